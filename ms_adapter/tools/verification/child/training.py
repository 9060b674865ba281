"""Backward passes and optimizers: gradients as they flow, parameters and states after each step."""

from __future__ import annotations

import inspect
import weakref
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .recorder import Recorder

_PLAIN = (bool, int, float, str, type(None))


class TrainingWatch:
    """Wraps the ways into backward, and hooks all optimizers' steps."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._made: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._scheduled: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._undo: list[tuple[Any, str, Any]] = []
        self._handles: list[Any] = []
        self._flow: list[tuple[int, int, int]] = []
        self._before: dict[str, Any] = {}

    def __enter__(self) -> TrainingWatch:
        torch = self._recorder.torch
        self._wrap(torch.Tensor, "backward", self._backward)
        self._wrap(torch.autograd, "backward", self._backward)
        self._wrap(torch.autograd, "grad", self._backward)
        self._wrap(torch.optim.Optimizer, "zero_grad", self._zero)
        self._wrap(torch.nn.Module, "zero_grad", self._zero)
        self._wrap(torch.optim.Optimizer, "__init__", self._make_optimizer)
        self._wrap(torch.optim.lr_scheduler.LRScheduler, "__init__", self._make_schedule)
        self._wrap(torch.autograd.Function, "apply", self._recorder.call_custom)
        module = import_module(torch.__name__ + ".optim.optimizer")
        self._handles = [
            module.register_optimizer_step_pre_hook(self._before_step),
            module.register_optimizer_step_post_hook(self._after_step),
        ]
        return self

    def __exit__(self, *exc_info: object) -> None:
        for owner, name, original in self._undo:
            setattr(owner, name, original)
        for handle in self._handles:
            handle.remove()

    def _wrap(self, owner: Any, name: str, around: Any) -> None:
        original = inspect.getattr_static(owner, name)  # a classmethod as such
        self._undo.append((owner, name, original))
        of_class = isinstance(original, classmethod)
        plain = original.__func__ if isinstance(original, classmethod) else original

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            return around(plain, args, kwargs)

        setattr(owner, name, classmethod(wrapped) if of_class else wrapped)

    def _make_optimizer(self, init: Any, args: tuple, kwargs: dict) -> None:
        init(*args, **kwargs)
        self._made[args[0]] = self._recorder.sites.making(args[0], 2)

    def _make_schedule(self, init: Any, args: tuple, kwargs: dict) -> None:
        init(*args, **kwargs)
        optimizer = args[1] if len(args) > 1 else kwargs.get("optimizer")
        if optimizer is not None:
            self._scheduled[optimizer] = self._recorder.sites.making(args[0], 2)

    # --- gradients

    def watch_gradient(self, tensor: Any, event: int, slot: int) -> None:
        """Note the gradient that reaches a result, whenever backward brings one."""
        try:
            if not self._recorder.torch.is_grad_enabled() or not tensor.requires_grad or tensor.is_leaf:
                return
        except RuntimeError:  # a view whose place in the graph is ambiguous: only its use may raise
            return

        def note(gradient: Any) -> None:
            if gradient is not None:
                self._flow.append((event, slot, self._recorder.store.number_of(gradient)))

        tensor.register_hook(note)

    def _backward(self, original: Any, args: tuple, kwargs: dict) -> Any:
        recorder = self._recorder
        if not recorder.watching:
            return original(*args, **kwargs)
        losses = [t for t in _flat((args, kwargs)) if recorder.is_tensor(t)]
        event: dict[str, Any] = {
            "kind": "backward",
            "name": "backward",
            **recorder.modules.place(),
            "site": recorder.sites.here(2),
            "ins": [recorder.store.number_of(t) for t in losses[:1]],
        }
        recorder.muted = True
        try:
            result = original(*args, **kwargs)
            named = [(k, p.grad) for k, p in recorder.modules.parameters.items() if p.grad is not None]
            for _, gradient in named:
                recorder.store.changed(gradient)
            event["gradients"] = [(k, recorder.store.number_of(gradient)) for k, gradient in named]
        finally:
            recorder.muted = False
        event["flow"], self._flow = self._flow, []
        recorder.add(event)
        return result

    def _zero(self, original: Any, args: tuple, kwargs: dict) -> Any:
        recorder = self._recorder
        if not recorder.watching:
            return original(*args, **kwargs)
        place, site = recorder.modules.place(), recorder.sites.here(2)
        recorder.add({"kind": "zero", "name": "zero_grad", **place, "site": site})
        recorder.muted = True
        try:
            return original(*args, **kwargs)
        finally:
            recorder.muted = False

    # --- optimizers

    def _before_step(self, optimizer: Any, args: tuple, kwargs: dict) -> Any:
        recorder = self._recorder
        if not recorder.watching:
            return None
        recorder.muted = True
        self._before = {
            "gradients": self._parameters(optimizer, lambda p: p.grad),
            "parameters_before": self._parameters(optimizer, lambda p: p),
            "states_before": self._states(optimizer),
        }
        if any(
            callable(item) for item in (*args[1:], *kwargs.values())
        ):  # it steps between what a closure runs
            self._recorder.add({**self._about(optimizer, 4), "kind": "stepping"})
        args = tuple(self._seen(item) if callable(item) and i else item for i, item in enumerate(args))
        return args, {name: self._seen(item) if callable(item) else item for name, item in kwargs.items()}

    def _seen(self, closure: Any) -> Any:
        """What a closure computes is the user's."""

        def run() -> Any:
            self._recorder.muted = False
            try:
                return closure()
            finally:
                self._recorder.muted = True

        return run

    def _after_step(self, optimizer: Any, args: tuple, kwargs: dict) -> None:
        recorder = self._recorder
        if not self._before:
            return
        recorder.store.all_changed()
        event = {
            **self._about(optimizer, 3),
            "kind": "step",
            "members": [len(group["params"]) for group in optimizer.param_groups],
            **self._before,
            "parameters": self._parameters(optimizer, lambda p: p),
            "states": self._states(optimizer),
        }
        self._before = {}
        recorder.add(event)
        recorder.muted = False
        recorder.finish_chunk()

    def _about(self, optimizer: Any, depth: int) -> dict[str, Any]:
        return {
            "name": type(optimizer).__name__,
            **self._recorder.modules.place(),
            "site": self._recorder.sites.here(depth),
            "made": self._made.get(optimizer),
            "scheduled": self._scheduled.get(optimizer),
            "groups": [_settings(group) for group in optimizer.param_groups],
        }

    def _named(self, optimizer: Any) -> list[tuple[str, Any]]:
        names = self._recorder.modules.names
        return [
            (names.get(id(parameter), f"group {i}, parameter {j}"), parameter)
            for i, group in enumerate(optimizer.param_groups)
            for j, parameter in enumerate(group["params"])
        ]

    def _parameters(self, optimizer: Any, of: Any) -> list[tuple[str, int]]:
        number_of = self._recorder.store.number_of
        values = [(name, of(parameter)) for name, parameter in self._named(optimizer)]
        return [(name, number_of(value)) for name, value in values if value is not None]

    def _states(self, optimizer: Any) -> list[tuple[str, int]]:
        recorder = self._recorder
        return [
            (f"{name}: {key}", recorder.store.number_of(value))
            for name, parameter in self._named(optimizer)
            for key, value in sorted(
                optimizer.state.get(parameter, {}).items(), key=lambda item: str(item[0])
            )
            if recorder.is_tensor(value)
        ]


def _settings(group: dict[str, Any]) -> dict[str, str]:
    """The plain numbers of a parameter group: lr, momentum, betas, ..."""
    return {
        name: repr(value)
        for name, value in group.items()
        if isinstance(value, _PLAIN)
        or (
            isinstance(value, (tuple, list))
            and name != "params"
            and all(isinstance(v, _PLAIN) for v in value)
        )
    }


def _flat(value: Any) -> list[Any]:
    if isinstance(value, (list, tuple)):
        return [item for part in value for item in _flat(part)]
    if isinstance(value, dict):
        return _flat(tuple(value.values()))
    return [value]
