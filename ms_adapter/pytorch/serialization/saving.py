"""torch.save: the pickle, with storages outside it, in PyTorch's zip format or the one before it."""

import functools
import hashlib
import io
import os
import pickle
import struct
import sys
from collections import OrderedDict

import ms_adapter.pytorch as torch

from ..utils.serialization import config
from . import legacy
from .atomic import can_replace, replacing
from .locations import location_tag
from .naming import Pickler
from .options import skipping_data
from .storages import bytes_of
from .zip_writer import FileSink, StreamSink, Writer

DEFAULT_PROTOCOL = 2


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True):
    """Write an object to a path or a file opened for writing bytes; PyTorch and :func:`load` read it.

    Tensors that share a storage still do after loading. A path is written whole or not at all: the file is
    the old one until the new one is complete and on the disk.

    >>> import io
    >>> import ms_adapter.pytorch as torch
    >>> buffer = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    {'weight': tensor([1., 1.])}
    """
    if getattr(pickle_module, "Pickler", None) is not pickle.Pickler:
        raise NotImplementedError(
            "torch.save: only Python's own pickle module is supported; leave pickle_module out, and give "
            "what it cannot pickle a __reduce__ method."
        )
    write = _write_zip if _use_new_zipfile_serialization else _write_legacy
    if isinstance(f, (str, bytes, os.PathLike)):
        _save_to_path(obj, f, write, pickle_protocol)
    elif hasattr(f, "write"):
        write(obj, StreamSink(f), "archive", pickle_protocol)
        if hasattr(f, "flush"):
            f.flush()  # who opens the file by its name finds all of it
    else:
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute, but got "
            f"{type(f)}"
        )


def _save_to_path(obj, path, write, protocol):
    if not can_replace(path):
        with open(path, "wb") as file:
            write(obj, StreamSink(file), "archive", protocol)
        return
    name = os.path.splitext(os.path.basename(os.fsdecode(path)))[0]
    folder = name if name.isascii() and name else "archive"  # as PyTorch, whose readers know no other names
    with replacing(path) as descriptor:
        write(obj, FileSink(descriptor), folder, protocol)


class _StoragePickler(Pickler):
    """Writes names of storages in their place and collects them.

    ``key_of(storage)`` names a storage, ``extra`` ends its id.
    """

    dispatch = Pickler.dispatch.copy()

    def __init__(self, file, protocol, key_of, extra=()):
        super().__init__(file, protocol)
        self.storages = {}  # name: (storage, dtype)
        self._key_of, self._extra = key_of, extra
        self._keys = {}  # by identity of the storage

    def persistent_id(self, obj):
        if isinstance(obj, torch.storage.TypedStorage):
            untyped = obj.untyped()
            key = self._key(untyped, obj.dtype)
            name, count = obj.pickle_storage_type(), obj.size()
        elif isinstance(obj, torch.UntypedStorage):
            untyped, key = obj, self._key(obj, torch.uint8)
            name, count = None, obj.nbytes()
        else:
            return None
        return "storage", _StorageName(name), key, location_tag(untyped), count, *self._extra

    def _key(self, untyped, dtype):
        """The storage's name in the file; it is collected."""
        key = self._keys.get(untyped._cdata)
        if key is None:
            key = self._keys[untyped._cdata] = self._key_of(untyped)
            self.storages[key] = untyped, dtype
        first = self.storages[key][1]
        if first != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"{first} and {dtype} share a storage; clone one of them."
            )
        return key

    def _save_tensor(self, tensor):
        """What pickle would write for a plain tensor, by a shorter way: files have thousands."""
        plain = tensor.layout is torch.strided and not tensor.is_meta and not tensor.requires_grad
        if not plain or self.proto != DEFAULT_PROTOCOL or tensor._has_attributes or not _typed(tensor.dtype):
            self.save_reduce(*tensor.__reduce_ex__(self.proto), obj=tensor)
            return
        untyped, dtype = tensor.untyped_storage(), tensor.dtype
        key = self._key(untyped, dtype)
        self._save_again(torch._utils._rebuild_tensor_v2)
        self.write(pickle.MARK + pickle.MARK)
        self._save_again(_STORAGE)
        self.write(
            b"".join(
                (
                    _StorageName(torch.storage.storage_type_name(dtype)).line,
                    _text(key),
                    _text(location_tag(untyped)),
                    _integer(untyped.nbytes() // dtype.itemsize),
                    pickle.NONE * len(self._extra),
                    pickle.TUPLE + pickle.BINPERSID,
                    _integer(tensor.storage_offset()),
                    _integers(tuple(tensor.size())),
                    _integers(tensor.stride()),
                    pickle.NEWFALSE,
                )
            )
        )
        self._save_again(OrderedDict)  # no hooks
        self.write(pickle.EMPTY_TUPLE + pickle.REDUCE + pickle.TUPLE + pickle.REDUCE)
        self.memoize(tensor)

    dispatch[torch.Tensor] = _save_tensor

    def _save_again(self, obj):
        """An object that the file is likely to hold already."""
        known = self.memo.get(id(obj))
        if known is None:
            self.save(obj)
        else:
            self.write(self.get(known[0]))

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _StorageName):
            self.write(obj.line)
        else:
            super().save(obj, save_persistent_id)


class _StorageName:
    """A storage class by its name in files."""

    def __init__(self, name):
        full = f"torch\n{name}\n" if name else "torch.storage\nUntypedStorage\n"
        self.line = pickle.GLOBAL + full.encode()


_STORAGE = "storage"  # one object, which the file then holds once


def _typed(dtype):
    return torch.storage.has_typed_class(dtype)


def _text(value):
    data = value.encode()
    return pickle.BINUNICODE + struct.pack("<I", len(data)) + data


def _integer(value):
    if 0 <= value < 1 << 8:
        return pickle.BININT1 + bytes((value,))
    if -(1 << 31) <= value < 1 << 31:
        return pickle.BININT + struct.pack("<i", value)
    data = pickle.encode_long(value)
    return pickle.LONG1 + bytes((len(data),)) + data


_TUPLES = (pickle.EMPTY_TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3)


@functools.lru_cache(1024)
def _integers(values):
    """A tuple of ints."""
    items = b"".join(map(_integer, values))
    return items + _TUPLES[len(values)] if len(values) <= 3 else pickle.MARK + items + pickle.TUPLE


def _write_legacy(obj, sink, _folder, protocol):
    legacy.write(sink, _StoragePickler, obj, protocol)
    sink.flush()


def _write_zip(obj, sink, folder, protocol):
    numbers = iter(map(str, range(sys.maxsize)))
    pickled = io.BytesIO()
    pickler = _StoragePickler(pickled, protocol, lambda storage: next(numbers))
    pickler.dump(obj)
    settings = config.save
    archive = Writer(sink, folder, settings.storage_alignment, settings.compute_crc32)
    archive.write("data.pkl", pickled.getvalue())
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", str(settings.storage_alignment).encode())
    archive.write("byteorder", sys.byteorder.encode())
    if not skipping_data():
        sink.expect(sum(storage.nbytes() for storage, _ in pickler.storages.values()))
    for key, (storage, _) in pickler.storages.items():
        if skipping_data():
            archive.reserve(f"data/{key}", storage.nbytes())
        else:
            archive.write(f"data/{key}", bytes_of(storage))
    archive.write("version", b"3\n")
    archive.write(".data/serialization_id", _serialization_id(archive.entries))
    archive.close()


def _serialization_id(entries):
    """40 digits that tell contents apart, from their checksums."""
    digest = hashlib.sha256(repr([entry[:3] for entry in entries]).encode())
    return str(int(digest.hexdigest(), 16))[:40].encode()
