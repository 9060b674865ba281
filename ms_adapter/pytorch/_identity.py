"""How our classes and constants are called in pickles: by our own names, or under the runner by PyTorch's."""

import copyreg
import sys
from types import FunctionType

from ms_adapter import _C

_OURS = __name__.rpartition(".")[0]
_renamed = set()  # modules whose classes speak as PyTorch's already


def _constant(name):
    """A dtype, layout or memory format by its name."""
    return getattr(sys.modules[_OURS], name)


def _reduce_constant(constant):
    return _constant, (str(constant).removeprefix("torch."),)


def _size(values):
    """A Size of these values."""
    return _C.Size(values)


def _device(text):
    """The device that ``text`` names."""
    return _C.device(text)


_REDUCERS = {
    _C.dtype: _reduce_constant,
    _C.layout: _reduce_constant,
    _C.memory_format: _reduce_constant,
    _C.Size: lambda size: (_size, (tuple(size),)),
    _C.device: lambda device: (_device, (str(device),)),
}


def pickle_under_own_names():
    """Let plain pickles find the core's constants where ``torch``, as they name themselves, is not us."""
    copyreg.dispatch_table.update(_REDUCERS)


def speak_as_torch():
    """Name PyTorch's modules in our classes and functions, so that names and pickles read as its own.

    For the runner, where those names lead to us. Parts of the face that are loaded later need another call.
    """
    for cls in _REDUCERS:
        copyreg.dispatch_table.pop(cls, None)
    for module_name, module in list(sys.modules.items()):
        ours = module_name == _OURS or module_name.startswith(_OURS + ".")
        if ours and module_name not in _renamed:
            _renamed.add(module_name)
            for value in list(vars(module).values()):
                if isinstance(value, (type, FunctionType, _C.overridable)):
                    _rename(value)


def _rename(value):
    module = value.__module__ or ""
    if module == _OURS or module.startswith(_OURS + "."):
        value.__module__ = "torch" + module[len(_OURS) :]
