"""A function that is recorded and, once two runs did the same, runs as a compiled graph."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Protocol

from ms_adapter import _C

from .graphs import Graph
from .numbers import NotThisTime, Stale
from .recording import Given, Output, Recording, record, tensors_among

MOST_RECORDINGS = 6  # of one signature, none like the one before
MOST_PLANS = 8  # of one signature, each with other attributes or options
MOST_SIGNATURES = 64  # recorded and not compiled: those after run as Python


class Backend(Protocol):
    """What makes a program of a graph; a program takes the inputs, writes what the graph writes, and gives
    the outputs."""

    def __call__(self, graph: Graph) -> Callable[[list[Any]], list[Any]]: ...


def replaying(graph: Graph) -> Callable[[list[Any]], list[Any]]:
    """The backend that runs a graph on our own engine, operator by operator."""
    return lambda inputs: graph.replay(*inputs)


class Compiled:
    """Calls `fn`; from the third call of a signature on, usually, by the graph that two calls agreed on.

    A signature is the shapes, dtypes and strides of the tensors, all other arguments, the modes of autograd
    and autocast. Attributes of modules and options of optimizers may change: then it is recorded anew. What
    cannot be captured runs as Python, and a RuntimeWarning says once why.
    """

    def __init__(self, fn: Callable[..., Any], backend: Backend, name: str) -> None:
        self.fn, self._backend, self._name = fn, backend, name
        self._plans: dict[Any, list[Plan]] = {}
        self._last: dict[Any, Recording] = {}
        self._recordings: dict[Any, int] = {}
        self._changes: dict[Any, int] = {}
        self._refused: set[Any] = set()
        self._said: set[str] = set()
        self.compiles = 0  # programs made so far

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _C.capture.active():
            return self.fn(*args, **kwargs)
        inputs, leaves, tree = tensors_among(args, kwargs)
        key = _signature(leaves, tree)
        if key in self._refused or self._too_many(key, leaves):
            return self.fn(*args, **kwargs)
        for plan in self._plans.get(key, ()):
            if plan.fits():
                try:
                    return plan.run(inputs)
                except NotThisTime:
                    return self.fn(*args, **kwargs)
                except Stale:
                    self._plans[key].remove(plan)
                    break
        return self._record(key, args, kwargs)

    def _too_many(self, key: Any, leaves: list[Any]) -> bool:
        """Whether a new signature comes after many that never made a program."""
        if key in self._recordings or len(self._recordings) - len(self._plans) < MOST_SIGNATURES:
            return False
        kinds = sorted({type(x).__name__ for x in leaves})
        self._say(
            f"{MOST_SIGNATURES} signatures (shapes, and values of other arguments) made no program; what "
            f"changes from call to call must be a tensor, and there are arguments of {', '.join(kinds)}"
        )
        return True

    def _record(self, key: Any, args: Any, kwargs: Any) -> Any:
        last = self._last.get(key)
        before = {id(t): t.grad for t in last.leaf_tensors} if last else {}
        presence = presence_of(last) if last else None
        made = record(self.fn, args, kwargs, before, whole=True, last=last)
        result, made.result = made.result, None
        self._recordings[key] = self._recordings.get(key, 0) + 1
        if made.graph is None or made.moved:
            self._refuse(key, made.reason or made.moved)
            return result
        known = next((p for p in self._plans.get(key, ()) if difference(p.recording, made) is None), None)
        why = difference(last, made) if last else "there was no call before"
        if known is not None and presence is not None:
            self._adopt(key, known, made, presence)
        elif why is None:
            self._compile(key, made, presence)
        elif self._recordings[key] >= MOST_RECORDINGS:
            self._refuse(key, f"no two calls do the same: {why}")
        if key not in self._refused:
            self._last[key] = made
        return result

    def _adopt(self, key: Any, known: Plan, made: Recording, presence: Any) -> None:
        """A program that was made stands for this recording, too."""
        if known.unchanged():
            known.presences.add(presence)
            return None
        self._changes[key] = self._changes.get(key, 0) + 1
        if self._changes[key] > MOST_PLANS:
            changes = {guard.change() for guard in known.guards} - {None}
            return self._refuse(key, f"what is around it changes between calls: {changes}")
        known.guards, known.presences = made.guards(), {presence}
        return None

    def _compile(self, key: Any, made: Recording, presence: Any) -> None:
        plans = self._plans.setdefault(key, [])
        if len(plans) >= MOST_PLANS:
            changes = {guard.change() for plan in plans for guard in plan.guards} - {None}
            return self._refuse(
                key, f"compiled {len(plans)} times already, and each time this changed: {changes}"
            )
        try:
            plan = Plan(made, self._backend, presence)
        except Uncompilable as error:
            return self._refuse(key, str(error))
        self.compiles += 1
        self._recordings[key] = 0
        plans.append(plan)
        return None

    def _refuse(self, key: Any, reason: str) -> None:
        self._refused.add(key)
        self._last.pop(key, None)
        self._say(reason)

    def _say(self, reason: str) -> None:
        if reason in self._said:
            return
        self._said.add(reason)
        name = getattr(self.fn, "__qualname__", type(self.fn).__name__)
        warnings.warn(f"{self._name}: {name} runs as Python: {reason}", RuntimeWarning, stacklevel=5)


class Uncompilable(Exception):
    """A backend cannot make a program of a graph; the text names the operator and the user's line."""


def _signature(leaves: list[Any], tree: Any) -> Any:
    from ms_adapter import pytorch as torch

    parts = tuple(
        (
            x.dtype,
            x.shape,
            x.stride(),
            x.requires_grad,
            x.device,
            id(x) if isinstance(x, torch.nn.Parameter) else 0,
        )
        if isinstance(x, torch.Tensor)
        else (type(x), _constant(x))
        for x in leaves
    )
    modes = (torch.is_grad_enabled(), torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    return parts, str(tree), modes, torch.get_default_dtype()


class _Same:
    """Stands for an object without a hash in a signature, and keeps it alive: its id is not given again."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __hash__(self) -> int:
        return id(self.of)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.of is self.of


def _constant(x: Any) -> Any:
    """What an argument that is no tensor is known by: it stays in the program as it is."""
    if type(x) in (float, complex):
        return repr(x)  # -0.0 is not 0.0, and NaN is itself
    if hasattr(x, "__array_interface__"):
        return x.dtype.str, x.shape, x.tobytes()  # NumPy's arrays change in place
    return x if x.__hash__ else _Same(x)


def difference(a: Recording, b: Recording) -> str | None:
    """None where two recordings did the same, else where they part."""
    assert a.graph is not None and b.graph is not None
    found = a.graph.difference(b.graph)
    if found:
        return found
    if str(a.tree) != str(b.tree) or not _same_leaves(a.leaves, b.leaves):
        return "the result has another Python value"
    pattern = [[(id(leaf), kind) for leaf, kind in r.gradients] for r in (a, b)]
    wanted = [[t if isinstance(t, int) else id(t) for t in r.wanted] for r in (a, b)]
    if pattern[0] != pattern[1] or wanted[0] != wanted[1] or a.differentiable != b.differentiable:
        return "gradients go to other tensors"
    return None


def _same_leaves(a: list[Any], b: list[Any]) -> bool:
    return len(a) == len(b) and all(map(_same_leaf, a, b))


def _same_leaf(x: Any, y: Any) -> bool:
    if x is y or type(x) is not type(y):
        return x is y
    try:
        return bool(x == y)
    except ValueError:  # arrays compare element by element; each call makes its own
        return False


def presence_of(made: Recording) -> tuple[Any, ...]:
    """Which leaves have a gradient now; which one, where the graph uses it."""
    assert made.graph is not None
    used = {id(v.tensor) for v in made.graph.values if v.used and v.origin == "captured"}
    grads = [leaf.grad for leaf in made.leaf_tensors]
    return tuple(id(g) if id(g) in used else g is None for g in grads)


class Plan:
    """A recording with its program, and what must hold for it to stand for the function."""

    def __init__(self, made: Recording, backend: Backend, presence: Any) -> None:
        assert made.graph is not None
        self.recording, self.guards, self.presences = made, made.guards(), {presence}
        if made.differentiable:
            n_given = len(made.graph.inputs) - len(made.differentiable)
            first, second = made.graph.split(n_given, len(made.graph.outputs) - len(made.wanted))
            self.program, self.backward = backend(first), backend(second)
        else:
            self.program = backend(made.graph)

    def unchanged(self) -> bool:
        """Whether all guards hold."""
        return all(guard.change() is None for guard in self.guards)

    def fits(self) -> bool:
        """Whether the program does what the function would do now."""
        return self.unchanged() and presence_of(self.recording) in self.presences

    def run(self, inputs: list[Any]) -> Any:
        """The function's result, by the program."""
        from ms_adapter import pytorch as torch

        made = self.recording
        made.numbers.refresh()
        given = [*inputs, *made.numbers.inputs]
        try:
            if made.differentiable:
                outputs = self._differentiable(given)
            else:
                with torch.no_grad():
                    outputs = self.program(given)
        except NotThisTime:
            made.numbers.take_back()
            raise
        new = iter(outputs[made.n_outputs :])
        for leaf, kind in made.gradients:
            leaf.grad = next(new) if kind == "computed" else None
        leaves = [_leaf(leaf, inputs, outputs) for leaf in made.leaves]
        return torch.utils._pytree.tree_unflatten(leaves, made.tree)

    def _differentiable(self, given: list[Any]) -> Any:
        wanted = [given[t] if isinstance(t, int) else t for t in self.recording.wanted]
        return _joined().apply(self, given, *wanted)


@functools.cache
def _joined() -> Any:
    """The autograd function whose forward and backward are two programs."""
    from ms_adapter import pytorch as torch

    class Joined(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, plan: Plan, given: list[Any], *wanted: Any) -> tuple[Any, ...]:
            made = plan.recording
            outputs = plan.program(given)
            results = outputs[: made.n_outputs]
            ctx.plan = plan
            ctx.save_for_backward(*outputs[made.n_outputs :])
            ctx.mark_non_differentiable(*(x for i, x in enumerate(results) if i not in made.differentiable))
            return tuple(results)

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
            with torch.no_grad():
                given = [grads[i] for i in ctx.plan.recording.differentiable]
                found = ctx.plan.backward([*ctx.saved_tensors, *given])
            if torch.is_grad_enabled():  # create_graph: the program's parameters are not seen from here
                found = torch.autograd.function.not_twice(found)
            return None, None, *found

    return Joined


def _leaf(leaf: Any, inputs: list[Any], outputs: list[Any]) -> Any:
    if isinstance(leaf, Output):
        return outputs[leaf.place]
    return inputs[leaf.place] if isinstance(leaf, Given) else leaf
