"""Runs operators of `mindspore` tensors through MindSpore's public callables, which the registry names."""

from __future__ import annotations

import functools
import importlib
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from ms_adapter import _C

SUPPORTED = "2.10.0"
DEVICE = "mindspore"

fallbacks: Counter[str] = (
    Counter()
)  # operator -> calls computed on cpu because no MindSpore callable served
refusals: dict[str, str] = {}        # operator -> why its callables did not serve, last seen
native: dict[str, str] = {}  # operator -> the MindSpore callable that served it last


class Refused(Exception):
    """A MindSpore callable does not take these arguments."""


@functools.cache
def mindspore() -> Any:
    """The MindSpore package; raises with the next step when it is missing or of another version."""
    try:
        package = importlib.import_module("mindspore")
    except ImportError as err:
        raise RuntimeError(
            f"device 'mindspore': MindSpore cannot be imported ({err}); "
            f"install mindspore=={SUPPORTED}, or use device 'cpu'"
        ) from err
    if package.__version__ != SUPPORTED:
        raise RuntimeError(
            f"device 'mindspore': MindSpore {package.__version__} is installed, {SUPPORTED} is needed; "
            f"pip install mindspore=={SUPPORTED}"
        )
    if package.get_context("device_target") != "CPU":
        raise NotImplementedError(
            "device 'mindspore': only MindSpore's CPU target is supported yet; mindspore.set_device('CPU')"
        )
    # Else an operator's failure surfaces in a later call, too late to try the next callable.
    package.runtime.launch_blocking()
    return package


@functools.cache
def resolve(path: str) -> Callable[..., Any] | None:
    """The callable at a dotted path below mindspore; None where this version has none."""
    found: Any = mindspore()
    for part in path.split("."):
        found = getattr(found, part, None)
        if found is None:
            try:
                importlib.import_module(f"mindspore.{path.rpartition('.')[0]}")
            except ImportError:
                return None
    return found if callable(found) else None


def host(value: Any) -> Any:
    """Tensors of this device as cpu tensors over the same memory: the CPU target lives in host memory."""
    if isinstance(value, _C.TensorBase):
        return _C.on_device(value, "cpu") if value.device.type == DEVICE else value
    if isinstance(value, (tuple, list)):
        return type(value)(host(v) for v in value)
    return "cpu" if getattr(value, "type", None) == DEVICE else value


def placed(value: Any) -> Any:
    """Cpu results back on this device."""
    if isinstance(value, _C.TensorBase):
        return _C.on_device(value, DEVICE)
    if isinstance(value, (tuple, list)):
        return tuple(placed(v) for v in value)
    return value


def to_mindspore(value: Any) -> Any:
    """An argument as MindSpore takes it; tensors alias their memory, strides included."""
    if isinstance(value, _C.TensorBase):
        if value.dtype.is_complex or str(value.dtype) == "torch.bool":
            raise Refused("DLPack carries neither bool nor complex to MindSpore")
        from mindspore.utils.dlpack import from_dlpack

        return from_dlpack(host(value).detach().__dlpack__())
    if isinstance(value, (tuple, list)):
        return tuple(to_mindspore(v) for v in value)
    if str(value).startswith("torch."):
        return getattr(mindspore(), str(value)[6:])
    return value


def from_mindspore(value: Any) -> Any:
    """A MindSpore result as a tensor of this device."""
    ms = mindspore()
    if isinstance(value, ms.Tensor):
        if value.dtype == ms.bool_:
            raise Refused("DLPack carries no bool from MindSpore")
        from mindspore.utils.dlpack import to_dlpack

        return _C.on_device(_C.from_dlpack(to_dlpack(value)), DEVICE)
    if isinstance(value, (tuple, list)):
        return tuple(from_mindspore(v) for v in value)
    return value


def call(
    name: str, overload: str, form: str, args: tuple[Any, ...], n_given: int, callables: tuple[str, ...]
) -> Any:
    """The backend's entry: one operator call. Arguments from `n_given` on are at their defaults."""
    mindspore()
    if name == "_to_copy":
        return move(*args)
    if name.endswith("_like") or name in ("zeros", "copy", "fill", "clone", "zero"):
        return on_cpu(name, overload, form, args, counted=False)  # memory traffic, no computation
    for path in callables:
        function = resolve(path)
        if function is None:
            continue
        try:
            result = from_mindspore(function(*map(to_mindspore, args[:n_given])))
        except (Refused, TypeError, ValueError, RuntimeError, NotImplementedError) as err:
            refusals[name] = f"{path}: {str(err).strip().partition(chr(10))[0]}"
            continue
        native[name] = path
        return finish(form, args, result)
    return on_cpu(name, overload, form, args)


def move(tensor: Any, dtype: Any = None, device: Any = None, memory_format: Any = None) -> Any:
    """`_to_copy`: between devices, or to another dtype on this one."""
    where = device if device is not None else tensor.device
    copy = _C.call_operator("_to_copy", "", "function", host(tensor), dtype, None, memory_format)
    return placed(copy) if where.type == DEVICE else copy


def finish(form: str, args: tuple[Any, ...], result: Any) -> Any:
    """In-place and out forms write the result through to the memory that is meant."""
    if form == "function":
        return result
    targets = args[:1] if form == "inplace" else args[-1:]
    for target, value in zip(targets, result if isinstance(result, tuple) else (result,)):
        host(target).copy_(host(value))
    return targets[0] if len(targets) == 1 else targets


def on_cpu(name: str, overload: str, form: str, args: tuple[Any, ...], counted: bool = True) -> Any:
    """Computes on cpu, over the same memory; counted, and said once for each operator."""
    if counted:
        if name not in fallbacks:
            warnings.warn(f"{name}: no MindSpore callable serves it; computed on cpu", stacklevel=2)
        fallbacks[name] += 1
    result = _C.call_operator(name, overload, form, *host(args))
    return args[0] if form == "inplace" else placed(result)


def fallback_report() -> list[tuple[str, int, str]]:
    """(operator, calls computed on cpu, why MindSpore's callables did not serve), most frequent first."""
    unnamed = "the registry names no callable"
    return [(name, count, refusals.get(name, unnamed)) for name, count in fallbacks.most_common()]


def install() -> None:
    """Makes this module the backend of the `mindspore` device; the first call imports MindSpore."""
    _C.set_backend(DEVICE, call, True)
