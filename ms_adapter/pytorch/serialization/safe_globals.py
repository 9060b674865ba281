"""Which names a file may use when nothing in it may run: our own table, and what users add to it."""

import _codecs
import collections

import ms_adapter.pytorch as torch

from .naming import torch_name

_added = set()


def add_safe_globals(safe_globals):
    """Let files use these classes and functions with ``weights_only=True``.

    Each is the object itself or a pair of the object and the full name that files know it by.
    """
    _added.update(safe_globals)


def get_safe_globals():
    """What was added and is still allowed."""
    return list(_added)


def clear_safe_globals():
    """Forget everything that was added."""
    _added.clear()


class safe_globals:
    """Lets files use these classes and functions within a block."""

    def __init__(self, safe_globals):
        self.safe_globals = list(safe_globals)

    def __enter__(self):
        self._new = [item for item in self.safe_globals if item not in _added]
        add_safe_globals(self._new)

    def __exit__(self, *exc_info):
        _added.difference_update(self._new)


class StorageType:
    """What ``torch.FloatStorage`` in a file means: the dtype of a storage's elements (None: bytes)."""

    def __init__(self, dtype):
        self.dtype = dtype


def storage_types():
    """Storage classes by the names that files use."""
    types = {f"torch.{name}": StorageType(cls.dtype) for name, cls in torch.storage.storage_classes().items()}
    types["torch.storage.UntypedStorage"] = types["torch.UntypedStorage"] = StorageType(None)
    return types


def allowed():
    """Everything that a file may name, by full name: the fixed table and what users added."""
    table = {**_fixed(), **storage_types()}
    for item in _added:
        if isinstance(item, tuple):
            if len(item) != 2 or not isinstance(item[1], str):
                raise ValueError(f"Expected a pair of an object and its full name, but got {item!r}")
            table[item[1]] = item[0]
        else:
            table[f"{torch_name(item.__module__)}.{item.__qualname__}"] = item
    return table


def added():
    """The objects that users allowed, which may be called and given states too."""
    return [item[0] if isinstance(item, tuple) else item for item in _added]


def _rebuilders():
    from .. import _utils

    names = [name for name in vars(_utils) if name.startswith("_rebuild_")]
    return {f"torch._utils.{name}": getattr(_utils, name) for name in names}


def callable_by_default():
    """The identities of what a file may call of the fixed table; the rest it may only name."""
    names_only = ("torch.Tensor",)
    return {
        id(value)
        for name, value in _fixed().items()
        if callable(value) and name not in names_only and not isinstance(value, torch.dtype)
    }


def rebuilders():
    """The identities of the functions that make tensors from a file's parts."""
    return {id(function) for function in _rebuilders().values()}


def _fixed():
    from .. import _tensor

    functions = _rebuilders()
    dtypes = {str(dtype): dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)}
    return {
        **functions,
        **dtypes,
        "torch._tensor._rebuild_from_type_v2": _tensor._rebuild_from_type_v2,
        "torch.nn.parameter.Parameter": torch.nn.Parameter,
        "torch.Tensor": torch.Tensor,
        "torch.Size": torch.Size,
        "torch.device": torch.device,
        "torch.serialization._get_layout": torch.serialization._get_layout,
        "collections.OrderedDict": collections.OrderedDict,
        "collections.Counter": collections.Counter,
        "_codecs.encode": _codecs.encode,
        "builtins.bytearray": bytearray,
        "builtins.set": set,
        "builtins.frozenset": frozenset,
        "builtins.complex": complex,
    }
