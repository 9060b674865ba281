"""torch.save: the pickle, with storages outside it, in PyTorch's zip format."""

import hashlib
import io
import os
import pickle
import sys

import ms_adapter.pytorch as torch

from .archive import Writer
from .atomic import replacing
from .naming import Pickler

DEFAULT_PROTOCOL = 2


def save(obj, f, pickle_module=pickle, pickle_protocol=DEFAULT_PROTOCOL, _use_new_zipfile_serialization=True):
    """Write an object to a path or a file opened for writing bytes; PyTorch and :func:`load` read it.

    Tensors that share a storage still do after loading. A path is written whole or not at all.

    >>> import io
    >>> import ms_adapter.pytorch as torch
    >>> buffer = io.BytesIO()
    >>> torch.save({"weight": torch.ones(2)}, buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    {'weight': tensor([1., 1.])}
    """
    if not _use_new_zipfile_serialization:
        raise NotImplementedError(
            "torch.save: the format from before PyTorch 1.6 is read but not written; leave "
            "_use_new_zipfile_serialization out."
        )
    if isinstance(f, (str, os.PathLike)):
        name = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        with replacing(f) as file:
            _write(obj, file, name, pickle_protocol)
    elif hasattr(f, "write"):
        _write(obj, f, "archive", pickle_protocol)
    else:
        raise AttributeError(
            f"expected 'f' to be string, path, or a file-like object with a 'write' attribute, but got "
            f"{type(f)}"
        )


class _StoragePickler(Pickler):
    """Writes storages as numbers and collects them."""

    def __init__(self, file, protocol):
        super().__init__(file, protocol)
        self.storages = []  # by number
        self._numbers, self._dtypes = {}, {}

    def persistent_id(self, obj):
        if isinstance(obj, torch.storage.TypedStorage):
            untyped, dtype, type_name, count = obj.untyped(), obj.dtype, obj.pickle_storage_type(), obj.size()
        elif isinstance(obj, torch.UntypedStorage):
            untyped, dtype, type_name, count = obj, torch.uint8, None, obj.nbytes()
        else:
            return None
        key = untyped._cdata
        if self._dtypes.setdefault(key, dtype) != dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"{self._dtypes[key]} and {dtype} share a storage; clone one of them."
            )
        if key not in self._numbers:
            self._numbers[key] = len(self.storages)
            self.storages.append(untyped)
        return "storage", _StorageName(type_name), str(self._numbers[key]), _location(untyped), count

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, _StorageName):
            self.write(pickle.GLOBAL + obj.line)
        else:
            super().save(obj, save_persistent_id)


class _StorageName:
    """A storage class by its name in files."""

    def __init__(self, name):
        full = f"torch\n{name}\n" if name else "torch.storage\nUntypedStorage\n"
        self.line = full.encode()


def _location(untyped):
    device = untyped.device
    return device.type if device.index is None or device.type == "cpu" else str(device)


def _write(obj, file, name, protocol):
    pickled = io.BytesIO()
    pickler = _StoragePickler(pickled, protocol)
    pickler.dump(obj)
    archive = Writer(file, name)
    archive.write("data.pkl", pickled.getvalue())
    archive.write(".format_version", b"1")
    archive.write(".storage_alignment", b"64")
    archive.write("byteorder", sys.byteorder.encode())
    digest = hashlib.sha256(pickled.getvalue())
    for number, storage in enumerate(pickler.storages):
        data = _bytes_of(storage)
        digest.update(data)
        archive.write(f"data/{number}", data)
    archive.write("version", b"3\n")
    archive.write(".data/serialization_id", str(int(digest.hexdigest(), 16))[:40].encode())
    archive.close()


def _bytes_of(storage):
    if storage.device.type == "cpu":
        return memoryview(storage)
    whole = torch.empty((0,), dtype=torch.uint8, device=storage.device)
    return memoryview(whole.set_(storage, 0, (storage.nbytes(),), (1,)).cpu().untyped_storage())
