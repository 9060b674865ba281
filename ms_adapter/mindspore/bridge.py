"""MindSpore's entry points that take our modules, functions and optimizers beside MindSpore's own.

Each looks at what it is given: ours runs on our autograd, MindSpore's goes to MindSpore. `install` puts them
in MindSpore's own modules, so that a script that says `import mindspore as ms` finds them there; `on_import`
calls it when both packages are imported.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable
from typing import Any

from ._package import fitting, installed, mindspore
from .graph import mode

_originals: dict[str, Any] = {}
# Functions and where MindSpore shows them; classes, and what stands for them when they are given ours.
_PLACES = {
    "value_and_grad": ("", "ops"),
    "grad": ("", "ops"),
    "clip_by_global_norm": ("ops",),
    "clip_by_value": ("ops",),
    "data_sink": ("", "train"),
    "save_checkpoint": ("", "train", "train.serialization"),
    "load_param_into_net": ("", "train", "train.serialization"),
    "auto_mixed_precision": ("amp", "train.amp"),
    "build_train_network": ("amp", "train.amp"),
    "all_finite": ("amp",),
    "set_context": ("",),
    "set_seed": ("", "common"),
}
_CLASSES = {
    "WithLossCell": ("nn", "training"),
    "TrainOneStepCell": ("nn", "training"),
    "TrainOneStepWithLossScaleCell": ("nn", "training"),
    "SGD": ("nn", "optimizers"),
    "Momentum": ("nn", "optimizers"),
    "Model": ("", "model"),
}
_SCALERS = ("StaticLossScaler", "DynamicLossScaler")


def of_package(space: str, name: str) -> Any:
    """A name of MindSpore's module; AttributeError with the next step where MindSpore is not installed."""
    if name.startswith("__"):
        raise AttributeError(name)
    path = f"mindspore.{space}".rstrip(".")
    if not installed():
        from .builtin import find

        if (found := find(space, name)) is not None:
            return found
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
    if isinstance(value, dict):
        return any(map(is_ours, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(is_ours, value))
    return isinstance(value, (torch.Tensor, torch.nn.Module, torch.optim.Optimizer))


def _original(name: str) -> Any:
    """MindSpore's own callable."""
    space = _PLACES[name][0] if name in _PLACES else _CLASSES[name][0]
    return _originals.get(name) or of_package(space, name)


def _differentiating(name: str) -> Callable[..., Any]:
    """value_and_grad or grad: whose tensors come says whose gradients are meant."""

    def make(
        fn: Any,
        grad_position: Any = 0,
        weights: Any = None,
        has_aux: bool = False,
        return_ids: bool = False,
        **options: Any,
    ) -> Any:
        from . import functional

        ours = getattr(functional, name)(fn, grad_position, weights, has_aux, return_ids, **options)
        if is_ours(weights) or is_ours(fn) or not installed():
            return ours
        theirs: list[Any] = []

        def run(*args: Any, **kwargs: Any) -> Any:
            if is_ours(args) or is_ours(kwargs) or weights is None and not _has_theirs(args):
                return ours(*args, **kwargs)
            if not theirs:
                theirs.append(_original(name)(fn, grad_position, weights, has_aux, return_ids, **options))
            return theirs[0](*args, **kwargs)

        return run

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"`mindspore.{name}`, for functions of our tensors too."
    return make


def _has_theirs(args: tuple[Any, ...]) -> bool:
    return any(isinstance(a, mindspore().Tensor) for a in args)


value_and_grad = _differentiating("value_and_grad")
grad = _differentiating("grad")


def _of_functional(name: str) -> Callable[..., Any]:
    """A function of `ms.ops`: ours for our tensors."""

    def run(*args: Any, **kwargs: Any) -> Any:
        from . import functional

        if is_ours(args) or is_ours(kwargs) or not installed():
            return getattr(functional, name)(*args, **kwargs)
        return _original(name)(*args, **kwargs)

    return run


clip_by_global_norm, clip_by_value = map(_of_functional, ("clip_by_global_norm", "clip_by_value"))


def data_sink(fn: Any, dataset: Any, *args: Any, **kwargs: Any) -> Any:
    """`mindspore.data_sink`; ours where MindSpore's target has no sink, and for our modules and data."""
    from . import data

    theirs = hasattr(dataset, "create_tuple_iterator") and not is_ours(fn)
    if theirs and installed() and mindspore().get_context("device_target") != "CPU":
        return _original("data_sink")(fn, dataset, *args, **kwargs)
    return data.data_sink(fn, dataset, *args, **kwargs)


def save_checkpoint(save_obj: Any, ckpt_file_name: Any, *args: Any, **kwargs: Any) -> Any:
    """`mindspore.save_checkpoint`, which also saves a module's state and tensors of ours by name."""
    from ms_adapter import pytorch as torch

    from . import checkpoint
    from .mixing import cast_to_ms_tensor

    if not installed():
        return checkpoint.save_checkpoint(save_obj, ckpt_file_name)
    if is_ours(save_obj):
        state = save_obj.state_dict() if hasattr(save_obj, "state_dict") else save_obj
        with torch.no_grad():
            save_obj = [{"name": name, "data": cast_to_ms_tensor(t)} for name, t in dict(state).items()]
    return _original("save_checkpoint")(save_obj, ckpt_file_name, *args, **kwargs)


def load_param_into_net(net: Any, parameter_dict: Any, *args: Any, **kwargs: Any) -> Any:
    """`mindspore.load_param_into_net`, for modules of ours too."""
    from . import checkpoint

    if is_ours(net):
        return checkpoint.load_param_into_net(net, parameter_dict, *args, **kwargs)
    return _original("load_param_into_net")(net, parameter_dict, *args, **kwargs)


def _of_amp(name: str) -> Callable[..., Any]:
    """A function of `ms.amp`: ours for ours."""

    def run(*args: Any, **kwargs: Any) -> Any:
        from . import amp

        if is_ours(args) or is_ours(kwargs):
            return getattr(amp, name)(*args, **kwargs)
        return _original(name)(*args, **kwargs)

    return run


auto_mixed_precision, build_train_network, all_finite = map(
    _of_amp, ("auto_mixed_precision", "build_train_network", "all_finite")
)


def set_context(*args: Any, **options: Any) -> None:
    """`mindspore.set_context`, whose mode is meant for our modules too."""
    _original("set_context")(*args, **options)
    mode.follow(options.get("mode"))


def set_seed(seed: int) -> None:
    """`mindspore.set_seed`, for our random numbers too."""
    from ms_adapter import pytorch

    pytorch.manual_seed(seed)
    if installed():
        _original("set_seed")(seed)


def entry(name: str) -> Any:
    """One of MindSpore's classes, which makes ours of ours; ours where MindSpore is not installed."""
    if not installed():
        return getattr(importlib.import_module(f"{__package__}.{_CLASSES[name][1]}"), name)
    mindspore()
    install()
    return _original(name)


def _make_ours_of_ours(original: Any, home: str) -> None:
    """Lets a class of MindSpore make an object of ours where it is given modules of ours."""
    made = original.__new__

    def __new__(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if cls is original and is_ours([*args, *kwargs.values()]):
            ours = importlib.import_module(f"{__package__}.{home}")
            return getattr(ours, original.__name__)(*args, **kwargs)
        return made(cls) if made is object.__new__ else made(cls, *args, **kwargs)

    original.__new__ = __new__


def _name_what_to_take(original: Any) -> None:
    """Lets MindSpore's optimizers, given parameters of ours, say what to take instead."""
    theirs = original.__init__

    @functools.wraps(theirs)
    def __init__(self: Any, learning_rate: Any, parameters: Any, *args: Any, **kwargs: Any) -> None:
        if is_ours(parameters):
            name = type(self).__name__
            raise TypeError(
                f"ms.nn.{name}: these are parameters of ms_adapter.pytorch; take torch.optim's {name}, or "
                "ms_adapter.mindspore.as_cell(module).trainable_params()."
            )
        theirs(self, learning_rate, parameters, *args, **kwargs)

    original.__init__ = __init__


def _scale_ours(original: Any) -> None:
    """Lets a loss scaler of MindSpore scale our tensors."""
    for name, power in (("scale", 1), ("unscale", -1)):
        theirs = getattr(original, name)

        @functools.wraps(theirs)
        def run(self: Any, inputs: Any, theirs: Any = theirs, power: int = power) -> Any:
            from . import amp

            if not is_ours(inputs):
                return theirs(self, inputs)
            return amp.scaled(inputs, float(self.scale_value) ** power)

        setattr(original, name, run)
    adjust = original.adjust

    @functools.wraps(adjust)
    def adjusted(self: Any, grads_finite: Any) -> Any:
        if is_ours(grads_finite):
            grads_finite = mindspore().Tensor(bool(grads_finite))
        return adjust(self, grads_finite)

    original.adjust = adjusted


def install() -> None:
    """Makes MindSpore's own entry points take our objects; again is nothing.

    MindSpore's compiler reads a function's source: what stands in for one says whose it is (`__wrapped__`).
    """
    package = fitting()
    if _originals:
        return
    for name, (space, home) in _CLASSES.items():
        _originals[name] = original = getattr(_part(package, space), name)
        _make_ours_of_ours(original, home)
    _name_what_to_take(package.nn.Optimizer)
    for name in _SCALERS:
        _scale_ours(getattr(package.amp, name))
    for name, spaces in _PLACES.items():
        _originals[name] = original = getattr(_part(package, spaces[0]), name)
        mine = functools.update_wrapper(globals()[name], original)
        for space in spaces:
            if getattr(_part(package, space), name, None) is original:
                setattr(_part(package, space), name, mine)
    mode.follow(package.get_context("mode"))


def _part(package: Any, space: str) -> Any:
    """A module below MindSpore by its dotted path."""
    return importlib.import_module(f"{package.__name__}.{space}") if space else package


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return entry(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
