"""MindSpore itself: found, of the version that fits, on a target that we serve; and its dtypes."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import threading
import warnings
from typing import Any

SUPPORTED = "2.10.0"
CPU, ASCEND = "CPU", "Ascend"


def fitting() -> Any:
    """The MindSpore package; RuntimeError with the next step when it is missing or of another version."""
    try:
        package = importlib.import_module("mindspore")
    except ImportError as err:
        raise RuntimeError(
            f"device 'mindspore': MindSpore cannot be imported ({err}); "
            f"install it with `pip install mindspore=={SUPPORTED}`, or use device 'cpu'."
        ) from err
    if package.__version__ != SUPPORTED:
        raise RuntimeError(
            f"device 'mindspore': MindSpore {package.__version__} is installed, {SUPPORTED} is needed; "
            f"`pip install mindspore=={SUPPORTED}`, or use device 'cpu'."
        )
    return package


class _Thread(threading.local):
    standing_in: Any = None  # what adapters see as MindSpore while a graph is made (graph/tracing.py)


thread = _Thread()  # other threads go on with MindSpore itself


def tracing() -> bool:
    """Whether this thread makes a graph."""
    return thread.standing_in is not None


def mindspore() -> Any:
    """The MindSpore package for the device: of the version and on a target that we serve."""
    return thread.standing_in or _served()


@functools.cache
def _served() -> Any:
    package = fitting()
    if target() not in (CPU, ASCEND):
        raise NotImplementedError(
            f"device 'mindspore': MindSpore's device_target is {target()!r}, and only 'CPU' is measured, "
            "'Ascend' designed; call mindspore.set_device('CPU') first."
        )
    if target() == ASCEND:
        warnings.warn(
            "MindSpore's device_target is 'Ascend', on which ms_adapter is unmeasured (docs/ascend.md)",
            stacklevel=2,
        )
    # Else an operator's failure surfaces in a later call, too late to try the next callable.
    package.runtime.launch_blocking()
    return package


def target() -> str:
    """What MindSpore runs on: "CPU", "Ascend", "GPU"."""
    return fitting().get_context("device_target")


@functools.cache
def shares_memory() -> bool:
    """Whether MindSpore's tensors can lie in our memory: on its CPU target."""
    mindspore()
    return target() == CPU


def installed() -> bool:
    """Whether there is a MindSpore to import, whatever its version."""
    return importlib.util.find_spec("mindspore") is not None


@functools.cache
def resolve(path: str) -> Any:
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


DTYPES = (
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


@functools.cache
def dtype_pairs() -> tuple[tuple[str, Any], ...]:
    """(the name of a dtype here, MindSpore's dtype) for all that both have."""
    ms = mindspore()
    return tuple((name, getattr(ms, "bool_" if name == "bool" else name)) for name in DTYPES)
