"""Saved states in a folder: the values behind one another in a file, and `.metadata`, which says where."""

import contextlib
import io
import pickle
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import ms_adapter.pytorch as torch

from ..._missing import attach
from ...serialization import atomic, naming
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

__all__ = ["FileSystemReader", "FileSystemWriter"]

_METADATA, _VALUES, _VERSION = ".metadata", "__0_0.distcp", "1.0.0"


@dataclass
class _StorageInfo:
    """Where a block lies in the files."""

    relative_path: str
    offset: int
    length: int
    transform_descriptors: Sequence[str] | None = None

    def __getstate__(self):
        return {name: value for name, value in vars(self).items() if value is not None}


def _described(value):
    """What `.metadata` says of a value, and the index of its one block without the name."""
    if not isinstance(value, torch.Tensor):
        return BytesStorageMetadata(), {}
    start = torch.Size([0] * value.dim())
    properties = TensorProperties(value.dtype, value.layout, value.requires_grad)
    described = TensorStorageMetadata(properties, value.size(), [ChunkStorageMetadata(start, value.size())])
    return described, {"offset": start, "index": 0}


@contextlib.contextmanager
def _written(path):
    with atomic.replacing(path) as descriptor, open(descriptor, "wb", closefd=False) as file:
        yield file


def _plain(value):
    return value.detach().cpu().contiguous() if isinstance(value, torch.Tensor) else value


class FileSystemWriter:
    """Writes a state into a folder, made where it lacks. ``overwrite=False`` refuses one that has a state.

    Options that only change how PyTorch writes (threads, synchronization) are accepted.
    """

    def __init__(
        self, path, single_file_per_rank=True, sync_files=True, thread_count=1,
        per_thread_copy_ahead=10_000_000, cache_staged_state_dict=False, overwrite=True, _extensions=None,
        **options,
    ):  # fmt: skip
        if _extensions:
            raise NotImplementedError(
                "FileSystemWriter: files with extensions (compression) cannot be written"
            )
        self.path, self.overwrite = Path(path), overwrite

    def _write(self, flat, paths):
        """Write named values with their paths; gives the metadata."""
        self.path.mkdir(parents=True, exist_ok=True)
        if (self.path / _METADATA).exists() and not self.overwrite:
            raise RuntimeError(f"save: {self.path} has a saved state already and overwrite is False")
        described, places = {}, {}
        with _written(self.path / _VALUES) as file:
            for name, value in flat.items():
                described[name], block = _described(value)
                start = file.tell()
                content = io.BytesIO()
                torch.save(_plain(value), content)
                file.write(content.getbuffer())
                places[MetadataIndex(name, **block)] = _StorageInfo(_VALUES, start, file.tell() - start)
        origin = StorageMeta(self.path, save_id=str(uuid.uuid4()))
        metadata = Metadata(described, paths, places, origin, _VERSION)
        with _written(self.path / _METADATA) as file:
            naming.Pickler(file, protocol=4).dump(metadata)
        return metadata


class FileSystemReader:
    """Reads states that a folder has, those that PyTorch wrote from several processes, too."""

    def __init__(self, path, _extension_registry=None):
        self.path = Path(path)

    @property
    def checkpoint_id(self):
        """The folder."""
        return self.path

    def read_metadata(self):
        """What the saved state consists of. It is a pickle, which runs what it says: only trusted folders."""
        with open(self.path / _METADATA, "rb") as file:
            return naming.unpickler_class(pickle)(file, None, {}).load()

    def _blocks(self, metadata):
        """A function from a name to its [(offset in the tensor, what is stored there)], read when asked."""
        places = defaultdict(list)
        for index, place in metadata.storage_data.items():
            places[index.fqn].append((index.offset, place))

        def blocks(name):
            return [(offset, self._value(name, place, offset)) for offset, place in places[name]]

        return blocks

    def _value(self, name, place, offset):
        if getattr(place, "transform_descriptors", None):
            raise NotImplementedError(
                f"load: {name} is stored with extensions that are not known: {place.transform_descriptors}"
            )
        with open(self.path / place.relative_path, "rb") as file:
            file.seek(place.offset)
            content = io.BytesIO(file.read(place.length))
        return torch.load(content, map_location="cpu", weights_only=offset is not None)


attach(__name__)
