"""torch.load: both of PyTorch's formats; by default nothing from the file runs."""

import io
import os
import pickle
import struct
import sys
import zipfile

import ms_adapter.pytorch as torch

from . import restricted
from .archive import Reader
from .naming import Unpickler
from .safe_globals import StorageType, storage_types

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001


def load(f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args):
    """Read an object that :func:`save` or PyTorch wrote, from a path or a file opened for reading bytes.

    Args:
        map_location: a device, a function ``(storage, location) -> storage``, or a dictionary of locations.
        weights_only: ``True`` (the default): tensors and plain containers only, nothing from the file runs,
            and any other name in it raises ``pickle.UnpicklingError``. ``False`` runs what the file says:
            only for files that you trust.
        mmap: accepted; the file is read as a whole.
    """
    if weights_only is None:
        weights_only = pickle_module is None
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as file:
            return _read(file, map_location, weights_only, pickle_load_args)
    for need in ("read", "readline", "seek", "tell"):
        if not hasattr(f, need):
            raise AttributeError(
                f"torch.load needs a path or a file with read, readline, seek and tell; {type(f)} has no "
                f"{need!r}: "
                "read it into io.BytesIO first."
            )
    return _read(f, map_location, weights_only, pickle_load_args)


def get_unsafe_globals_in_checkpoint(f):
    """The names in a zip file of :func:`save` that ``weights_only=True`` would refuse."""
    from .safe_globals import allowed

    with open(f, "rb") if isinstance(f, (str, os.PathLike)) else _unclosed(f) as file:
        if not _is_zip(file):
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        names = restricted.globals_of(io.BytesIO(Reader(file).read("data.pkl")))
    return [name for name in names if name not in allowed()]


class _unclosed:
    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self.file

    def __exit__(self, *exc_info):
        pass


def _is_zip(file):
    start = file.tell()
    magic = file.read(4)
    file.seek(start)
    return magic == b"PK\x03\x04"


def _read(file, map_location, weights_only, pickle_load_args):
    restore = _restorer(map_location)
    if _is_zip(file):
        try:
            archive = Reader(_from_here(file))
        except zipfile.BadZipFile as err:
            raise RuntimeError(f"PytorchStreamReader failed reading zip archive: {err}") from err
        return _read_zip(archive, restore, weights_only, pickle_load_args)
    return _read_legacy(file, restore, weights_only, pickle_load_args)


def _from_here(file):
    """The file from its present position on: archives count from their own start."""
    return file if file.tell() == 0 else io.BytesIO(file.read())


def _unpickle(file, persistent_load, weights_only, options):
    if weights_only:
        return restricted.load(file, persistent_load)
    return Unpickler(file, persistent_load, storage_types(), **options).load()


def _parse_id(saved_id):
    """(dtype or None, key, location, number of elements) of a storage's id in the pickle."""
    if not (isinstance(saved_id, tuple) and len(saved_id) >= 5 and saved_id[0] in ("storage", b"storage")):
        raise pickle.UnpicklingError(f"torch.load: unknown persistent id {saved_id!r}.")
    storage_type, key, location, count = saved_id[1:5]
    if not isinstance(storage_type, StorageType):
        raise pickle.UnpicklingError(f"torch.load: unknown storage type {storage_type!r}.")
    return storage_type.dtype, _text(key), _text(location), count


def _text(value):
    return value.decode() if isinstance(value, bytes) else value


def _typed(storage, dtype):
    return (
        storage
        if dtype is None
        else torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)
    )


def _size_in_bytes(dtype, count):
    return count if dtype is None else count * torch.empty((), dtype=dtype).element_size()


def _read_zip(archive, restore, weights_only, options):
    if not archive.has("data.pkl"):
        if archive.has("constants.pkl"):
            raise RuntimeError(
                "torch.load: this is a TorchScript archive, which torch.jit.load would read; it is not "
                "supported."
            )
        raise RuntimeError("PytorchStreamReader failed locating file data.pkl: file not found")
    if archive.has("byteorder") and archive.read("byteorder").decode() != sys.byteorder:
        raise NotImplementedError(
            "torch.load: the file was written on a machine of the other byte order; load and save it there "
            "with "
            "PyTorch's set_default_load_endianness, or convert it on such a machine."
        )
    storages = {}

    def persistent_load(saved_id):
        dtype, key, location, count = _parse_id(saved_id)
        if key not in storages:
            storage = torch.UntypedStorage(_size_in_bytes(dtype, count))
            if storage.nbytes():
                archive.read_into(f"data/{key}", storage)
            storages[key] = restore(storage, location)
        return _typed(storages[key], dtype)

    return _unpickle(io.BytesIO(archive.read("data.pkl")), persistent_load, weights_only, options)


def _read_legacy(file, restore, weights_only, options):
    """The format from before PyTorch 1.6: several pickles, then the storages one after another."""

    def no_storages(saved_id):
        raise pickle.UnpicklingError(f"torch.load: unexpected persistent id {saved_id!r}.")

    def plain():
        return _unpickle(file, no_storages, True, {})

    start = file.tell()
    if not file.read(1):
        raise EOFError("Ran out of input")
    file.seek(start)
    if plain() != _MAGIC_NUMBER:
        raise pickle.UnpicklingError("torch.load: invalid magic number; the file is not one of torch.save's.")
    version = plain()
    if version != _PROTOCOL_VERSION:
        raise RuntimeError(f"Invalid protocol version: {version}")
    if not plain().get("little_endian", True):
        raise NotImplementedError("torch.load: the file was written on a big-endian machine.")
    storages, views = {}, {}

    def persistent_load(saved_id):
        dtype, key, location, count = _parse_id(saved_id)
        if key not in storages:
            storages[key] = restore(torch.UntypedStorage(_size_in_bytes(dtype, count)), location), dtype
        storage = storages[key][0]
        view = saved_id[5] if len(saved_id) > 5 else None
        if view is not None:
            view_key, offset, view_size = view
            if view_key not in views:
                views[view_key] = _view_storage(storage, dtype, offset, view_size)
            storage = views[view_key]
        return _typed(storage, dtype)

    result = _unpickle(file, persistent_load, weights_only, options)
    for key in plain():
        storage, dtype = storages[_text(key)]
        _fill_from_stream(file, storage, dtype)
    return result


def _view_storage(storage, dtype, offset, size):
    """Files of PyTorch before 0.4 could hold views of storages; a whole one is the storage itself."""
    if offset == 0 and _size_in_bytes(dtype, size) == storage.nbytes():
        return storage
    raise NotImplementedError(
        "torch.load: the file holds a view of a storage (PyTorch before 0.4): save it anew."
    )


def _fill_from_stream(file, storage, dtype):
    (count,) = struct.unpack("<q", _exactly(file, 8))
    size = _size_in_bytes(dtype, count)
    if size != storage.nbytes():
        raise RuntimeError(
            f"torch.load: a storage has {size} bytes in the file where {storage.nbytes()} were announced."
        )
    data = _exactly(file, size)
    if storage.device.type == "cpu":
        memoryview(storage).cast("B")[:] = data
    else:
        whole = torch.empty((0,), dtype=torch.uint8, device=storage.device).set_(storage, 0, (size,), (1,))
        whole.copy_(torch.frombuffer(bytearray(data), dtype=torch.uint8))


def _exactly(file, count):
    data = file.read(count)
    if len(data) != count:
        raise RuntimeError(f"torch.load: the file ends early: {count} bytes expected, {len(data)} found.")
    return data


def _restorer(map_location):
    """The function that puts a storage where it belongs: (storage on cpu, saved location) -> storage."""
    if map_location is None:
        return default_restore_location
    if isinstance(map_location, dict):
        return lambda storage, location: default_restore_location(
            storage, map_location.get(location, location)
        )
    if isinstance(map_location, (str, torch.device)):
        return lambda storage, location: default_restore_location(storage, str(map_location))

    def custom(storage, location):
        answer = map_location(storage, location)
        answer = getattr(answer, "_untyped_storage", answer)
        return default_restore_location(storage, location) if answer is None else answer

    return custom


def default_restore_location(storage, location):
    """The storage on the device named ``location``."""
    if location == "cpu":
        return storage
    device = torch.cuda._target(location) if location.startswith("cuda") else torch.device(location)
    if device.type == "cpu":
        return storage
    if device.type == "meta":
        return torch.UntypedStorage(storage.nbytes(), device="meta")
    whole = torch.empty((0,), dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
    return whole.to(device).untyped_storage()
