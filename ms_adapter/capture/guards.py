"""What a graph took for granted about Python: modules' attributes, optimizers' options, plain variables."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def plain(pairs: Iterable[tuple[str, Any]]) -> list[tuple[str, Any, type]]:
    """Those whose value is plain, or a tuple of such, with its type: 1 and 1.0 compute other dtypes."""
    return [
        (name, value, type(value))
        for name, value in pairs
        if type(value) in PLAIN or type(value) is tuple and all(type(x) in PLAIN for x in value)
    ]


class ModuleGuard:
    """A module's plain attributes, the tensors that it has, and how many hooks."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.seen = self.now()

    def now(self) -> tuple[Any, ...]:
        """What must stay as it is."""
        own = vars(self.module)
        tensors = [
            (k, id(t), t.data_ptr(), t.requires_grad)
            for held in (own["_parameters"], own["_buffers"])
            for k, t in held.items()
            if t is not None
        ]
        hooks = len(own["_forward_hooks"]) + len(own["_forward_pre_hooks"]) + len(own["_backward_hooks"])
        return (*plain(own.items()), *tensors, hooks)

    def change(self) -> str | None:
        """What is not as it was, in words."""
        now = self.now()
        if now == self.seen:
            return None
        before = {item[0]: item for item in self.seen if isinstance(item, tuple)}
        for item in now:
            if isinstance(item, tuple) and before.get(item[0]) != item:
                return f"the attribute {item[0]!r} of {type(self.module).__name__}"
        return f"attributes or hooks of {type(self.module).__name__}"


class OptimizerGuard:
    """An optimizer's options; its learning rates may change between calls, not in them."""

    def __init__(self, optimizer: Any) -> None:
        self.optimizer = optimizer
        self.seen = self.options()
        self.rates = self.rates_now()
        self.state: tuple[int, ...] | None = None

    def options(self) -> list[Any]:
        """All options of all groups but the learning rates."""
        found = []
        for group in self.optimizer.param_groups:
            found.append([(k, v) for k, v in group.items() if k not in ("lr", "params")])
            found.append([id(p) for p in group["params"]])
            found.append(_known_rate(group))
        return found

    def rates_now(self) -> list[Any]:
        """The learning rates."""
        return [group.get("lr") for group in self.optimizer.param_groups]

    def state_now(self) -> tuple[int, ...]:
        """Which tensors are the optimizer's state."""
        state = self.optimizer.state
        return tuple(id(v) for own in state.values() for v in own.values() if hasattr(v, "data_ptr"))

    def change(self) -> str | None:
        """What is not as it was, in words."""
        if self.options() != self.seen:
            return f"an option of {type(self.optimizer).__name__}"
        if self.state is not None and self.state_now() != self.state:
            return f"the state of {type(self.optimizer).__name__}"
        return None

    def change_of_rates(self) -> str | None:
        """Said where a call itself changes a learning rate."""
        if self.rates_now() == self.rates:
            return None
        kind = type(self.optimizer).__name__
        return f"the learning rate of {kind}: step the scheduler outside of the function"


def _known_rate(group: Any) -> Any:
    """A tensor as learning rate is a captured one: it must stay the same tensor."""
    rate = group.get("lr")
    return id(rate) if hasattr(rate, "data_ptr") else None


class NamesGuard:
    """The plain variables around a function that its code names: globals and what it closes over."""

    def __init__(self, fn: Any) -> None:
        self.function = _plain_function(fn)
        self.seen = self.now()

    def now(self) -> list[tuple[str, Any, type]]:
        """Their values."""
        function = self.function
        if function is None:
            return []
        found = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                found.append((name, cell.cell_contents))
            except ValueError:  # not bound yet
                continue
        space = function.__globals__
        found += [(name, space[name]) for name in function.__code__.co_names if name in space]
        return plain(found)

    def change(self) -> str | None:
        """The name of a variable that changed."""
        now = self.now()
        if now == self.seen:
            return None
        changed = next((item[0] for item in now if item not in self.seen), "of the function")
        return f"the variable {changed!r}"


def _plain_function(fn: Any) -> types.FunctionType | None:
    """The Python function behind a callable or module."""
    if hasattr(fn, "forward") and hasattr(fn, "_parameters"):
        fn = type(fn).forward
    fn = getattr(fn, "__func__", fn)
    fn = getattr(fn, "__wrapped__", fn)
    return fn if isinstance(fn, types.FunctionType) else None
