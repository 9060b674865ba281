"""Pickling under PyTorch's names: files say ``torch...`` for what is ``ms_adapter.pytorch...`` here."""

import pickle
import sys
from types import FunctionType

import ms_adapter.pytorch as torch

from .. import _missing

_OURS, _THEIRS = torch.__name__, "torch"
# What PyTorch's own functions and methods are attributes of, in files.
_HOLDERS = {"torch._C._VariableFunctionsClass": torch, "torch._C.TensorBase": torch.Tensor}
_QUANTIZED = ("torch._utils._rebuild_qtensor",)


def torch_name(module):
    """The name that files have for a module of ours."""
    if module == _OURS or module.startswith(_OURS + "."):
        return _THEIRS + module[len(_OURS) :]
    return module


def our_name(module):
    """The module of ours for a name in a file."""
    if module == _THEIRS or module.startswith(_THEIRS + "."):
        return _OURS + module[len(_THEIRS) :]
    return module


class Pickler(pickle._Pickler):
    """Python's pickler with PyTorch's names for our classes and functions.

    The pure Python one: the C one insists on importing the name that it writes.
    """

    dispatch = pickle._Pickler.dispatch.copy()

    def _save_constant(self, obj):
        self._write_global(_THEIRS, str(obj).removeprefix("torch."), obj)

    def _save_layout(self, obj):
        self.save_reduce(torch.serialization._get_layout, (str(obj),), obj=obj)

    def _save_size(self, obj):
        self.save_reduce(torch.Size, (tuple(obj),), obj=obj)

    def _save_device(self, obj):
        args = (obj.type,) if obj.index is None else (obj.type, obj.index)
        self.save_reduce(torch.device, args, obj=obj)

    def save_global(self, obj, name=None):
        module = torch_name(getattr(obj, "__module__", None) or "")
        if not module.startswith(_THEIRS):
            super().save_global(obj, name)
            return
        self._write_global(module, name or obj.__qualname__, obj)

    def _write_global(self, module, name, obj):
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    def save_type(self, obj):
        if obj in (type(None), type(NotImplemented), type(...)):
            super().save_type(obj)
        else:
            self.save_global(obj)

    dispatch.update(
        {
            torch.dtype: _save_constant,
            torch.memory_format: _save_constant,
            torch.layout: _save_layout,
            torch.Size: _save_size,
            torch.device: _save_device,
        }
    )
    dispatch[FunctionType] = save_global
    dispatch[type] = save_type


def unpickler_class(pickle_module):
    """A pickle module's unpickler, which runs what the file says, with PyTorch's names meaning ours."""

    class Unpickler(pickle_module.Unpickler):
        def __init__(self, file, persistent_load, storage_types, **options):
            super().__init__(file, **options)
            self._persistent_load = persistent_load
            self._storage_types = storage_types

        def persistent_load(self, saved_id):
            return self._persistent_load(saved_id)

        def find_class(self, module, name):
            full = f"{module}.{name}"
            if full in self._storage_types:
                return self._storage_types[full]
            if full in _HOLDERS:
                return _HOLDERS[full]
            if module == "torch._C._nn":
                return getattr(torch.nn.functional, "logsigmoid" if name == "log_sigmoid" else name)
            ours = our_name(module)
            if ours != module:
                check_present(full)
            if ours != module and ours in sys.modules and hasattr(sys.modules[ours], name.split(".")[0]):
                module = ours
            return super().find_class(module, name)

    return Unpickler


def check_present(full):
    """Raise where a name of PyTorch's in a file is known to be missing here, with the reason."""
    if full in _QUANTIZED:
        reason = "quantized tensors are not supported"
    else:
        found = ((_missing.entry(full, present), present) for present in (False, True))
        key, present = next((pair for pair in found if pair[0]), (None, False))
        if key is None:
            return
        reason = _missing.reasons(present)[key]
    raise NotImplementedError(f"torch.load: the file uses {full}, which ms_adapter lacks: {reason}.")
