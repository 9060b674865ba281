"""What a graph took for granted about modules and optimizers; state.py has what else is around a function."""

from __future__ import annotations

from operator import is_
from typing import Any

PLAIN = frozenset({bool, int, float, complex, str, bytes, type(None)})
HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


class ModuleGuard:
    """A module's plain attributes, the tensors that it has, and its hooks."""

    def __init__(self, module: Any) -> None:
        self.module, self._own = module, vars(module)
        self.seen = self.now()
        names = [k for k, v in self._own.items() if type(v) in PLAIN]
        self._names, self._plain = names, [self._own[k] for k in names]
        self._size = len(self._own)
        self._tensors = [
            (held, k, t, t.data_ptr(), t.requires_grad)
            for held in (self._own["_parameters"], self._own["_buffers"])
            for k, t in held.items()
            if t is not None
        ]
        self._counts: list[tuple[dict[Any, Any], int]] = [
            (held, len(held)) for held in (self._own["_parameters"], self._own["_buffers"], *self.hooks())
        ]
        self._no_hooks = not any(self.hooks())

    def hooks(self) -> list[dict[int, Any]]:
        """The dictionaries of the module's hooks."""
        return [self._own[name] for name in HOOKS]

    def now(self) -> tuple[Any, ...]:
        """What must stay as it is."""
        own = self._own
        # The types too: 1 and 1.0 compute other dtypes.
        plain = [(k, v, type(v)) for k, v in own.items() if type(v) in PLAIN]
        tensors = [
            (k, id(t), t.data_ptr(), t.requires_grad)
            for held in (own["_parameters"], own["_buffers"])
            for k, t in held.items()
            if t is not None
        ]
        return (*plain, *tensors, *(id(hook) for held in self.hooks() for hook in held.values()))

    def _untouched(self) -> bool:
        """Whether the very same objects are there: what is nearly always so, quickly."""
        own = self._own
        return (
            len(own) == self._size
            and self._no_hooks
            and all(map(is_, map(own.get, self._names), self._plain))
            and all(len(held) == n for held, n in self._counts)
            and all(
                held.get(k) is t and t.data_ptr() == place and t.requires_grad is wants
                for held, k, t, place, wants in self._tensors
            )
        )

    def change(self) -> str | None:
        """What is not as it was, in words."""
        if self._untouched():
            return None
        if len(self._own) != self._size:
            return f"the number of attributes of {type(self.module).__name__}"
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
