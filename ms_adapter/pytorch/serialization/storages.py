"""What both formats know of a storage: its id in the pickle, its size, its byte order, its bytes."""

import pickle
import reprlib

import ms_adapter.pytorch as torch

from .safe_globals import StorageType


def parse_id(saved_id):
    """(dtype or None for bytes, key, location, number of elements, view) of a storage's id in a pickle."""
    if not (isinstance(saved_id, tuple) and len(saved_id) >= 5 and saved_id[0] in ("storage", b"storage")):
        raise pickle.UnpicklingError(f"torch.load: unknown persistent id {reprlib.repr(saved_id)}.")
    storage_type, key, location, count = saved_id[1:5]
    if not isinstance(storage_type, StorageType):
        raise pickle.UnpicklingError(f"torch.load: unknown storage type {reprlib.repr(storage_type)}.")
    key, location = text(key), text(location)
    if type(key) not in (str, int) or type(location) is not str or type(count) is not int or count < 0:
        raise pickle.UnpicklingError(
            f"torch.load: the storage {reprlib.repr(key)} at {reprlib.repr(location)} cannot have "
            f"{reprlib.repr(count)} elements."
        )
    return storage_type.dtype, str(key), location, count, saved_id[5] if len(saved_id) > 5 else None


def text(value):
    """A str, whichever Python wrote it."""
    return value.decode("ascii") if isinstance(value, bytes) else value


def typed(storage, dtype):
    """The storage as tensors' constructors in pickles want it."""
    if dtype is None:
        return storage
    return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)


def item_bytes(dtype):
    """The bytes of one element; None stands for bytes."""
    return 1 if dtype is None else dtype.itemsize


def swap_bytes(storage, dtype):
    """Turn the byte order of each number in a storage on cpu."""
    size = item_bytes(dtype) // (2 if dtype is not None and dtype.is_complex else 1)
    if size > 1:
        import numpy as np

        data = memoryview(storage).cast("B")
        np.frombuffer(data[: len(data) // size * size], dtype=f"u{size}").byteswap(inplace=True)


def bytes_of(storage):
    """A storage's bytes, fetched to cpu if need be."""
    if storage.device.type == "cpu":
        return memoryview(storage).cast("B")
    whole = as_bytes(storage).cpu()
    return memoryview(whole.untyped_storage()).cast("B")


def as_bytes(storage):
    """A tensor of all bytes of a storage."""
    whole = torch.empty((0,), dtype=torch.uint8, device=storage.device)
    return whole.set_(storage, 0, (storage.nbytes(),), (1,))
