"""One run of a function with its graph, and what it did that is no operator: gradients, numbers moved on."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ms_adapter import _C

from . import numbers
from .graphs import Graph, package_folder
from .guards import ModuleGuard, OptimizerGuard
from .ran import Ran
from .state import THE_FUNCTION, StateGuard, TooMuch


@dataclass
class Recording:
    """What one run gave and left.

    The graph's inputs are the arguments' tensors, then the host numbers, then (where `wanted` is not empty)
    the gradients of the differentiable outputs; its outputs are the result's tensors, then new gradients of
    leaves (`gradients`), then gradients of `wanted`.
    """

    result: Any = None
    graph: Graph | None = None
    reason: str = ""
    tree: Any = None  # of the result
    leaves: list[Any] = field(default_factory=list)  # of the result: Output, Given, or a Python value
    n_outputs: int = 0
    numbers: numbers.HostNumbers = field(default_factory=numbers.HostNumbers)
    gradients: list[tuple[Any, Any]] = field(default_factory=list)  # (leaf, "computed" or None)
    leaf_tensors: list[Any] = field(default_factory=list)  # what may get a .grad
    wanted: list[Any] = field(default_factory=list)  # places of inputs, or tensors
    differentiable: list[int] = field(default_factory=list)  # outputs with a history
    modules: dict[int, ModuleGuard] = field(default_factory=dict)
    optimizers: dict[int, OptimizerGuard] = field(default_factory=dict)
    ran: Ran = field(default_factory=Ran)
    state: StateGuard | None = None
    moved: str = ""  # what the call itself changed

    def guards(self) -> list[Any]:
        """All that must stay as it was."""
        return [*self.modules.values(), *self.optimizers.values(), *([self.state] if self.state else [])]

    def state_around(self, fn: Any, args: list[Any]) -> StateGuard:
        """What is around the function now, as far as what ran tells."""
        given = [("an argument", x) for x in args if not is_input(x)]
        called = [(type(m.module).__name__, m.module) for m in self.modules.values()]
        return StateGuard([(THE_FUNCTION, fn), *given, *called], self.ran, self.modules)


@dataclass(frozen=True)
class Output:
    """The place of a result's tensor among the graph's outputs."""

    place: int


@dataclass(frozen=True)
class Given:
    """The place of a result's tensor among the inputs, one of which it is."""

    place: int


def tensors_among(args: Any, kwargs: Any) -> tuple[list[Any], list[Any], Any]:
    """(tensors that are inputs, all leaves, their tree); parameters are found where they are used."""
    torch = _torch()
    leaves, tree = torch.utils._pytree.tree_flatten((args, kwargs))
    return [x for x in leaves if is_input(x)], leaves, tree


def is_input(x: Any) -> bool:
    """Whether an argument is an input of the graph: a tensor that is no parameter."""
    torch = _torch()
    return isinstance(x, torch.Tensor) and not isinstance(x, torch.nn.Parameter)


def record(
    fn: Callable[..., Any],
    args: Any,
    kwargs: Any,
    grads_before: dict[int, Any] | None = None,
    *,
    whole: bool = False,
    last: Recording | None = None,
) -> Recording:
    """Runs the function once. `grads_before` are the gradients of the leaves that an earlier recording found;
    `whole`: the result is differentiated from outside, and its gradients join the graph. Of the code that ran
    for `last` it is known what to look at before and after the call."""
    made = Recording()
    inputs, leaves, _ = tensors_among(args, kwargs)
    try:
        before = last.state_around(fn, leaves) if last else None
    except TooMuch:
        before = None  # the recording's own state says so
    with ExitStack() as stack:
        stack.enter_context(numbers.gathering(made.numbers))
        _watch_modules(stack, made)
        _C.capture.start(inputs, package_folder())
        try:
            with made.ran:
                made.result = fn(*args, **kwargs)
                outputs = _outputs(made, inputs, grads_before or {}, whole)
        except BaseException:
            _C.capture.stop()
            raise
    core, made.reason = _C.capture.finish(outputs)
    made.graph = Graph(core) if core is not None else None
    if whole and made.graph is not None:
        _look_around(made, fn, leaves, last, before)
    return made


def _look_around(made: Recording, fn: Any, leaves: list[Any], last: Recording | None, before: Any) -> None:
    """Notes the state around the function, and whether the call changed it."""
    changed = before.change() if before else None
    made.moved = f"{changed} changes during the call" if changed else ""
    if last:
        made.ran.join(last.ran)
    try:
        made.state = made.state_around(fn, leaves)
    except TooMuch as error:
        made.graph, made.reason = None, str(error)


def _watch_modules(stack: ExitStack, made: Recording) -> None:
    """Notes the modules and optimizers that the function calls, as they are at their first call; the hooks
    also hear what other threads call."""
    torch = _torch()
    from ms_adapter.pytorch.optim.optimizer import register_optimizer_step_pre_hook

    def module_called(module: Any, _args: Any) -> None:
        if id(module) not in made.modules and numbers.belong_here(made.numbers):
            made.modules[id(module)] = ModuleGuard(module)

    def optimizer_called(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if id(optimizer) not in made.optimizers and numbers.belong_here(made.numbers):
            made.optimizers[id(optimizer)] = OptimizerGuard(optimizer)

    hooks = [
        torch.nn.modules.module.register_module_forward_pre_hook(module_called),
        register_optimizer_step_pre_hook(optimizer_called),
    ]
    for hook in hooks:
        stack.callback(hook.remove)


def _outputs(made: Recording, inputs: list[Any], grads_before: dict[int, Any], whole: bool) -> list[Any]:
    """The graph's outputs; refuses what a graph cannot give."""
    torch = _torch()
    leaves, made.tree = torch.utils._pytree.tree_flatten(made.result)
    outputs: list[Any] = []
    for leaf in leaves:
        place = next((i for i, x in enumerate(inputs) if x is leaf), None)
        if place is not None or not isinstance(leaf, torch.Tensor):
            made.leaves.append(leaf if place is None else Given(place))
            continue
        if whole and not _C.capture.computed(leaf):
            _C.capture.refuse("the result has a tensor from before, or a view of an input; give a clone()")
        if leaf.requires_grad:
            made.differentiable.append(len(outputs))
        made.leaves.append(Output(len(outputs)))
        outputs.append(leaf)
    made.n_outputs = len(outputs)
    outputs += _new_gradients(made, inputs, grads_before)
    if made.gradients or made.optimizers or not whole:
        made.differentiable = []
    if made.differentiable:
        outputs += _outer_gradients(made, inputs, [outputs[i] for i in made.differentiable])
    _refuse_changes(made)
    return outputs


def _new_gradients(made: Recording, inputs: list[Any], before: dict[int, Any]) -> list[Any]:
    """Gradients that the function left on leaves."""
    found = []
    made.leaf_tensors = [t for t in (*_C.capture.captured(), *inputs) if t.requires_grad and t.is_leaf]
    for leaf in made.leaf_tensors:
        grad = leaf.grad
        if grad is not None and _C.capture.computed(grad):
            made.gradients.append((leaf, "computed"))
            found.append(grad)
        elif grad is None and before.get(id(leaf)) is not None:
            made.gradients.append((leaf, None))
    return found


def _outer_gradients(made: Recording, inputs: list[Any], results: list[Any]) -> list[Any]:
    """Differentiates the result with respect to all that it hangs on, as a later backward() would."""
    torch = _torch()
    places = {id(x): i for i, x in enumerate(inputs)}
    wanted = [*made.leaf_tensors, *(x for x in inputs if x.requires_grad and not x.is_leaf)]
    made.wanted = [places.get(id(t), t) for t in wanted]
    given = []
    for result in results:
        _C.capture.pause(True)
        grad = torch.ones_like(result, requires_grad=False)
        _C.capture.pause(False)
        _C.capture.add_input(grad)
        given.append(grad)
    # No backward of the user's: hooks on what the function was given (its inputs, parameters) do not run.
    roots, leaves = (tuple(results), tuple(given)), tuple(wanted)
    try:
        return list(_C.autograd.run_backward(*roots, True, False, leaves, True, False, False))
    except RuntimeError as error:  # its place is a backward(), which may never come
        _C.capture.refuse(f"its gradients cannot be computed: {error}")
        return []


def _refuse_changes(made: Recording) -> None:
    for guard in made.guards():
        changed = guard.change()
        if changed:
            _C.capture.refuse(f"{changed} changes during the call")
    for guard in made.optimizers.values():
        changed = guard.change_of_rates()
        if changed:
            _C.capture.refuse(f"the call changes {changed}")
        guard.state = guard.state_now()


def _torch() -> Any:
    from ms_adapter import pytorch

    return pytorch
