"""torch.load: both of PyTorch's formats and safetensors; by default nothing from the file runs."""

import contextlib
import io
import mmap as mmap_flags
import os
import pickle
import sys
import warnings

import ms_adapter.pytorch as torch

from .. import _utils
from ..utils.serialization import config
from . import legacy, restricted, safetensors_file
from .locations import is_meta, restorer
from .naming import unpickler_class
from .options import LoadEndianness, get_default_load_endianness, get_default_mmap_options, skipping_data
from .safe_globals import allowed, storage_types
from .sources import open_source
from .storages import item_bytes, parse_id, swap_bytes, typed
from .zip_reader import Reader

_YES = ("1", "y", "yes", "true")
_ALIGNED = 64  # bytes: a multiple of every element's size, and what our kernels may load at once


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read an object that :func:`save` or PyTorch wrote, from a path or a file opened for reading bytes.

    Args:
        map_location: a device, its name, a function ``(storage, location) -> storage``, or a dictionary of
            names. Without it storages go where they were, and to cpu where that device is not here.
        weights_only: ``True`` (the default): tensors and plain containers only, nothing from the file runs,
            and any other name in it raises ``pickle.UnpicklingError``. ``False`` runs what the file says:
            only for files that you trust.
        mmap: ``True`` maps the file, which must be a path, instead of reading it: bytes are read when they
            are first used.

    A truncated, damaged or forged file raises ``RuntimeError`` or ``pickle.UnpicklingError``.

    >>> import io
    >>> import ms_adapter.pytorch as torch
    >>> buffer = io.BytesIO()
    >>> torch.save([torch.arange(3), "text"], buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    [tensor([0, 1, 2]), 'text']
    """
    weights_only = _decide_weights_only(weights_only, pickle_module)
    if weights_only and pickle_load_args:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if mmap is None:
        mmap = config.load.mmap
    if is_path(f) and os.fsdecode(f).endswith(".safetensors"):
        return safetensors_file.load(f, map_location)

    def unpickle(file, size, persistent_load):
        if weights_only:
            return restricted.load(file, size, persistent_load)
        make = unpickler_class(pickle_module or pickle)
        return make(file, persistent_load, storage_types(), **pickle_load_args).load()

    with _opened(f) as file, _utils.checking_sparse_tensors():
        if _is_zip(file):
            return _Zip(f, file, map_location, mmap).load(unpickle, weights_only)
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization="
                "True)`: load this one without mmap and save it anew."
            )
        return legacy.read(file, restorer(map_location), unpickle)


def get_unsafe_globals_in_checkpoint(f):
    """The names in a zip file of :func:`save` that ``weights_only=True`` would refuse."""
    with _opened(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        names = restricted.globals_of(io.BytesIO(Reader(open_source(file)).read("data.pkl")))
    return [name for name in names if name not in allowed()]


def is_path(f):
    """Whether ``f`` names a file."""
    return isinstance(f, (str, bytes, os.PathLike))


def _decide_weights_only(weights_only, pickle_module):
    """What the call says, or else the environment, or else True unless a pickle module was given."""
    force, forbid = (
        os.environ.get(f"TORCH_FORCE_{name}WEIGHTS_ONLY_LOAD", "0").lower() in _YES for name in ("", "NO_")
    )
    if force and forbid:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` should be "
            "set, but both were set."
        )
    if force:
        weights_only = True
    elif weights_only is None:
        weights_only = pickle_module is None and not forbid
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return bool(weights_only)


def _opened(f):
    if is_path(f):
        return open(f, "rb")
    for need in ("read", "readline", "seek", "tell"):
        if not hasattr(f, need):
            raise AttributeError(
                f"torch.load needs a path or a file with read, readline, seek and tell; {type(f)} has no "
                f"{need!r}: read it into io.BytesIO first."
            )
    return contextlib.nullcontext(f)


def _is_zip(file):
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    return magic == b"PK\x03\x04"


class _Zip:
    """One zip file being loaded."""

    def __init__(self, f, file, map_location, mmap):
        self._archive = Reader(open_source(file))
        self._restore = restorer(map_location)
        self._without_data = is_meta(map_location) or skipping_data()
        self._storages = {}
        self._whole = self._map(f) if mmap else None
        self._swapped = self._byte_order() != sys.byteorder

    def load(self, unpickle, weights_only):
        """The object in the file."""
        if self._archive.has("constants.pkl"):
            raise RuntimeError(
                "torch.load: this is a TorchScript archive, which ms_adapter cannot read: save the module's "
                "state_dict() with torch.save instead."
            )
        data = self._archive.read("data.pkl")
        return unpickle(io.BytesIO(data), len(data), self._persistent_load)

    def _map(self, f):
        if not is_path(f):
            raise ValueError("f must be a file path in order to use the mmap argument")
        return torch.UntypedStorage.from_file(f, get_default_mmap_options() == mmap_flags.MAP_SHARED)

    def _byte_order(self):
        if self._archive.has("byteorder"):
            order = self._archive.read("byteorder")
            if order not in (b"little", b"big"):
                raise RuntimeError(f"torch.load: unknown byte order {order[:20]!r} in the file.")
            return order.decode()
        names = {LoadEndianness.LITTLE: "little", LoadEndianness.BIG: "big"}
        return names.get(get_default_load_endianness(), sys.byteorder)

    def _persistent_load(self, saved_id):
        dtype, key, location, count, _ = parse_id(saved_id)
        if key not in self._storages:
            self._storages[key] = self._restore(self._read(dtype, key, count), location)
        return typed(self._storages[key], dtype)

    def _read(self, dtype, key, count):
        """The storage on cpu; what the pickle says of its size must be true before memory is taken for it."""
        record, archive = f"data/{key}", self._archive
        size, told = archive.size(record), count * item_bytes(dtype)
        if not 0 <= size - told < item_bytes(dtype):
            raise RuntimeError(
                f"torch.load: storage {key} has {size} bytes in the file where its tensors say {told}: the "
                "file is damaged."
            )
        if self._without_data:
            return torch.UntypedStorage(size)
        storage = self._mapped(record, size) if self._whole is not None else None
        if storage is None:
            storage = torch.UntypedStorage(size)
            if size:
                archive.read_into(record, storage)
        if self._swapped:
            swap_bytes(storage, dtype)
        return storage

    def _mapped(self, record, size):
        """A part of the mapped file, or None where the bytes do not lie in it as memory needs them."""
        if not self._archive.is_stored(record):
            return None
        start = self._archive.place(record)
        return self._whole[start : start + size] if start % _ALIGNED == 0 else None
