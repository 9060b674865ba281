"""MindSpore's entry points that take our modules, functions and optimizers beside MindSpore's own.

Each looks at what it is given: ours runs on our autograd, MindSpore's goes to MindSpore. `install` puts
them in
MindSpore's own modules, so that a script that says `import mindspore as ms` finds them there.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from ._package import installed, mindspore

_originals: dict[tuple[str, str], Any] = {}
_PLACES = {"value_and_grad": ("", "ops"), "grad": ("", "ops")}
_CLASSES = {"WithLossCell": "nn", "TrainOneStepCell": "nn", "Model": ""}


def of_package(space: str, name: str) -> Any:
    """A name of MindSpore's module; AttributeError with the next step where MindSpore is not installed."""
    if name.startswith("__"):
        raise AttributeError(name)
    path = f"mindspore.{space}".rstrip(".")
    if not installed():
        raise AttributeError(
            f"ms_adapter.{path} has no {name!r} of its own, and MindSpore, whose it is, is not installed."
        )
    mindspore()
    module = importlib.import_module(path)
    try:
        return getattr(module, name)
    except AttributeError:
        if importlib.util.find_spec(f"{path}.{name}") is None:
            raise
        return importlib.import_module(f"{path}.{name}")


def is_ours(value: Any) -> bool:
    """Whether a value is a tensor, module or optimizer of ours, or holds one."""
    torch = sys.modules.get("ms_adapter.pytorch")
    if torch is None:
        return False
    if isinstance(value, (list, tuple)):
        return any(map(is_ours, value))
    return isinstance(value, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer))


def _original(name: str) -> Any:
    """MindSpore's own callable."""
    for space in _PLACES.get(name, ("",)):
        if (space, name) in _originals:
            return _originals[space, name]
    return of_package(_CLASSES.get(name, ""), name)


def _differentiating(name: str) -> Callable[..., Any]:
    """value_and_grad or grad: whose tensors come says whose gradients are meant."""

    def make(
        fn: Any, grad_position: Any = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False
    ) -> Any:
        from . import functional

        ours = getattr(functional, name)(fn, grad_position, weights, has_aux, return_ids)
        if is_ours(weights) or is_ours(fn) or not installed():
            return ours
        theirs: list[Any] = []

        def run(*args: Any, **kwargs: Any) -> Any:
            if is_ours(args) or is_ours(list(kwargs.values())) or weights is None and not _has_theirs(args):
                return ours(*args, **kwargs)
            if not theirs:
                theirs.append(_original(name)(fn, grad_position, weights, has_aux, return_ids))
            return theirs[0](*args, **kwargs)

        return run

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`mindspore.{name}`, for functions of our tensors too."
    return make


def _has_theirs(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, mindspore().Tensor) for a in args)


value_and_grad = _differentiating("value_and_grad")
grad = _differentiating("grad")


def entry(name: str) -> Any:
    """WithLossCell, TrainOneStepCell or Model: MindSpore's own class, which makes ours of ours; else ours."""
    from . import training

    if not installed():
        return getattr(training, name)
    install()
    return _original(name)


def _take_ours(original: Any) -> None:
    """Lets a class of MindSpore make an object of ours where it is given modules of ours."""
    made = original.__new__

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is original and is_ours([*args, *kwargs.values()]):
            from . import training

            return getattr(training, original.__name__)(*args, **kwargs)
        return made(cls) if made is object.__new__ else made(cls, *args, **kwargs)

    original.__new__ = __new__


def install() -> None:
    """Makes MindSpore's own entry points take our objects; again is nothing."""
    mindspore()
    for name in _CLASSES:
        if ("", name) not in _originals:
            original = of_package(_CLASSES[name], name)
            _originals["", name] = original
            _take_ours(original)
    for name in ("value_and_grad", "grad"):
        for space in _PLACES[name]:
            module = importlib.import_module(f"mindspore.{space}".rstrip("."))
            mine = globals()[name]
            if getattr(module, name) is not mine:
                _originals[space, name] = getattr(module, name)
                setattr(module, name, mine)


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return entry(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
