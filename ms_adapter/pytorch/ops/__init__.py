"""torch.ops: operators by namespace: ``torch.ops.aten`` has the registry's, others those of torch.library."""

import pathlib
import sys
import types

from .. import _placeholders
from . import aten, torchvision
from ._custom import packets
from ._overloads import OpOverload, OpOverloadPacket
from .aten import _msa as msa

__all__ = ["OpOverload", "OpOverloadPacket", "aten", "load_library", "loaded_libraries", "msa", "torchvision"]

loaded_libraries: set[str] = set()


class _CannotLoad(NotImplementedError, OSError):
    """So that libraries that can do without their extension go on without it."""


def load_library(path):
    """Loads kernels that were built against ``ms_adapter/kernel.h`` (docs/cpp_extension.md).

    torchvision's libraries count as loaded, as their operators are here (``torch.ops.torchvision``,
    ``torch.ops.image``). NotImplementedError (which is an OSError too) for others built against PyTorch's
    C++.
    """
    if pathlib.Path(path).parent.name == "torchvision" and _provide_of_torchvision(pathlib.Path(path).stem):
        return
    if _is_of_kernels(path):
        from ..utils.cpp_extension import load_library as load_kernels

        load_kernels(path)
        loaded_libraries.add(str(path))
        return
    raise _CannotLoad(
        f"torch.ops.load_library: {path} is built against PyTorch's C++ and cannot be loaded by ms_adapter. "
        "Write the operator in Python (torch.library.custom_op), or its kernel for ms_adapter's own header "
        "(docs/cpp_extension.md)."
    )


def _provide_of_torchvision(library):
    """Whether it is one of torchvision's libraries, whose operators are then there."""
    if library == "_C":
        torchvision.provide()
    elif library == "image":
        from ._image import provide

        provide()
    return library in ("_C", "image")


def _is_of_kernels(path):
    """Whether a library says that it has kernels, read without loading it."""
    try:
        with open(path, "rb") as file:
            return b"ms_adapter_kernels" in file.read()
    except OSError:
        return False


class _OpNamespace:
    """The operators that torch.library defined under one name."""

    def __init__(self, name):
        self.name = self.__name__ = name

    def __getattr__(self, op_name):
        found = packets.get((self.name, op_name))
        if found is None:
            found = _placeholders.find(f"torch.ops.{self.name}.{op_name}")
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{op_name}'")
        return found

    def __dir__(self):
        return [name for space, name in packets if space == self.name]

    def __repr__(self):
        return f"<torch.ops.{self.name}>"


class _Ops(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
        made = self.__dict__[name] = _OpNamespace(name)
        return made


sys.modules[__name__].__class__ = _Ops
