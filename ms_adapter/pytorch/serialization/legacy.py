"""The format from before PyTorch 1.6: several pickles, then the storages one after another."""

import os
import pickle
import reprlib
import struct
import sys

import ms_adapter.pytorch as torch

from .._utils import storages_filled_last
from . import restricted
from .options import skipping_data
from .sources import fill_from_stream, read_exactly
from .storages import as_bytes, bytes_of, item_bytes, parse_id, text, typed

_MAGIC_NUMBER = 0x1950A86A20F9469CFC6C
_PROTOCOL_VERSION = 1001
_SYSTEM = {
    "protocol_version": _PROTOCOL_VERSION,
    "little_endian": sys.byteorder == "little",
    "type_sizes": {"short": 2, "int": 4, "long": 4},
}
_TAR_MAGIC = 257, b"ustar"  # of the format before this one
_LARGE_READ = 1 << 20  # bytes


class _Bounded:
    """A file of known size: lengths that it announces itself are compared with what is left of it."""

    def __init__(self, file):
        self.file = file
        start = file.tell()
        file.seek(0, os.SEEK_END)
        self.end = file.tell()
        file.seek(start)
        self.readline = file.readline

    def left(self):
        """The bytes behind the present position."""
        return self.end - self.file.tell()

    def read(self, count):
        """At most ``count`` bytes."""
        return self.file.read(count if count < _LARGE_READ else min(count, self.left()))


def read(file, restore, unpickle):
    """The object in a file, whose storages ``restore(storage, location)`` places."""
    start = file.tell()
    if not file.read(1):
        raise EOFError("Ran out of input")
    file.seek(start + _TAR_MAGIC[0])
    if file.read(len(_TAR_MAGIC[1])) == _TAR_MAGIC[1]:
        raise NotImplementedError(
            "torch.load: the file is a .tar of PyTorch before 0.1.10; load it with PyTorch and save it anew."
        )
    file.seek(start)
    return _Legacy(file, restore).read(unpickle)


class _Legacy:
    """One file being loaded."""

    def __init__(self, file, restore):
        self._file, self._restore = file, restore
        self._bounded = _Bounded(file)
        self._left = self._bounded.left()  # bytes that storages may still claim
        self._storages, self._views = {}, {}

    def read(self, unpickle):
        """The object."""
        magic = self._plain()
        if type(magic) is not int or magic != _MAGIC_NUMBER:
            raise pickle.UnpicklingError(
                "torch.load: Invalid magic number; the file is not one of torch.save's."
            )
        version = self._plain()
        if type(version) is not int or version != _PROTOCOL_VERSION:
            raise RuntimeError(f"Invalid protocol version: {reprlib.repr(version)}")
        self._plain()  # about the system that wrote it: bytes are in little-endian order whatever it says
        with storages_filled_last():
            result = unpickle(self._bounded, self._left, self._persistent_load)
            keys = self._plain()
            if not isinstance(keys, list):
                raise pickle.UnpicklingError("torch.load: the file lacks the list of its storages.")
            if not skipping_data():
                self._fill_all(keys)
        return result

    def _plain(self):
        return restricted.load(self._bounded, self._left, _no_storages)

    def _persistent_load(self, saved_id):
        if isinstance(saved_id, tuple) and saved_id and saved_id[0] in ("module", b"module"):
            return saved_id[1]  # a class, whose source follows
        dtype, key, location, count, view = parse_id(saved_id)
        if key not in self._storages:
            size = count * item_bytes(dtype)
            if size > self._left:
                raise RuntimeError(
                    f"torch.load: storage {key[:40]} claims {size} bytes; the file has {self._left} more."
                )
            self._left -= size
            self._storages[key] = self._restore(torch.UntypedStorage(size), location), dtype
        storage = self._storages[key][0]
        return typed(storage if view is None else self._view(storage, dtype, view), dtype)

    def _view(self, storage, dtype, view):
        """A part of a storage, as files of PyTorch before 0.4 have them."""
        if not (isinstance(view, tuple) and len(view) == 3 and all(type(n) is int for n in view[1:])):
            raise pickle.UnpicklingError(f"torch.load: unknown view of a storage {reprlib.repr(view)}.")
        key, first, count = str(text(view[0])), *(n * item_bytes(dtype) for n in view[1:])
        if first < 0 or count < 0 or first + count > storage.nbytes():
            raise RuntimeError(f"torch.load: a view of bytes {first} to {first + count} leaves its storage.")
        if key not in self._views:
            self._views[key] = storage[first : first + count]
        return self._views[key]

    def _fill_all(self, keys):
        for key in map(text, keys):
            self._fill(key)
        if empty := self._storages.keys() - set(map(str, map(text, keys))):
            raise RuntimeError(
                f"torch.load: the file has no bytes for storage {min(empty)[:40]}: it is damaged."
            )

    def _fill(self, key):
        if type(key) not in (str, int) or str(key) not in self._storages:
            raise RuntimeError(
                f"torch.load: storage key {reprlib.repr(key)} belongs to no tensor of the file."
            )
        storage, dtype = self._storages[str(key)]
        (count,) = struct.unpack("<q", read_exactly(self._file, 8))
        size = count * item_bytes(dtype)
        if size != storage.nbytes():
            raise RuntimeError(
                f"torch.load: a storage has {size} bytes in the file where {storage.nbytes()} were announced."
            )
        if storage.device.type == "cpu":
            fill_from_stream(self._file, storage)
        elif storage.device.type == "meta":
            self._file.seek(size, os.SEEK_CUR)
        else:
            data = torch.UntypedStorage(size)
            fill_from_stream(self._file, data)
            as_bytes(storage).copy_(as_bytes(data))


def _no_storages(saved_id):
    raise pickle.UnpicklingError(f"torch.load: unexpected persistent id {reprlib.repr(saved_id)}.")


def write(file, pickler_class, obj, protocol):
    """Write ``obj`` to an object with ``write``."""
    for head in (_MAGIC_NUMBER, _PROTOCOL_VERSION, _SYSTEM):
        pickle.dump(head, file, protocol=protocol)
    pickler = pickler_class(file, protocol, lambda storage: str(storage._cdata), (None,))
    pickler.dump(obj)
    keys = sorted(pickler.storages)
    pickle.dump(keys, file, protocol=protocol)
    file.expect(sum(storage.nbytes() for storage, _ in pickler.storages.values()))
    for key in keys:
        storage, dtype = pickler.storages[key]
        count = storage.nbytes() // item_bytes(dtype)
        file.write(struct.pack("<q", count))
        if count:
            file.write(bytes_of(storage)[: count * item_bytes(dtype)])
