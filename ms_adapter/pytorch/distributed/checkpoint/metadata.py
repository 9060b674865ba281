"""What a saved state consists of: the pickle `.metadata` beside its files, as PyTorch writes and reads it."""

import enum
import os
from dataclasses import dataclass, field
from typing import Any

import ms_adapter.pytorch as torch

from ..._missing import attach

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "Metadata", "MetadataIndex", "StorageMeta",
    "TensorProperties", "TensorStorageMetadata",
]  # fmt: skip


@dataclass
class ChunkStorageMetadata:
    """A block of a tensor: where it begins, and its shape."""

    offsets: torch.Size
    sizes: torch.Size


class _MEM_FORMAT_ENCODING(enum.Enum):  # noqa: N801 - PyTorch's name, which files have
    TORCH_CONTIGUOUS_FORMAT = 0
    TORCH_CHANNELS_LAST = 1
    TORCH_PRESERVE_FORMAT = 2


_FORMATS = (torch.contiguous_format, torch.channels_last, torch.preserve_format)


@dataclass
class TensorProperties:
    """What a tensor is beside its shape and values."""

    dtype: torch.dtype = field(default_factory=torch.get_default_dtype)
    layout: torch.layout = torch.strided
    requires_grad: bool = False
    memory_format: torch.memory_format = torch.contiguous_format
    pin_memory: bool = False

    def __getstate__(self):
        code = _MEM_FORMAT_ENCODING(_FORMATS.index(self.memory_format))
        return self.dtype, self.layout, self.requires_grad, code, self.pin_memory

    def __setstate__(self, state):
        self.dtype, self.layout, self.requires_grad, code, self.pin_memory = state
        self.memory_format = _FORMATS[code.value]


@dataclass
class TensorStorageMetadata:
    """A tensor: its properties, its shape, and the blocks that are stored."""

    properties: TensorProperties
    size: torch.Size
    chunks: list[ChunkStorageMetadata]


@dataclass
class BytesStorageMetadata:
    """A value that is no tensor."""


@dataclass
class StorageMeta:
    """Where a state was saved, and under which name."""

    checkpoint_id: str | os.PathLike | None = None
    save_id: str | None = None
    load_id: str | None = None
    modules: list[str] = field(default_factory=list)


@dataclass
class Metadata:
    """A saved state: what each name has, the path to it in the nested state, and the places in files."""

    state_dict_metadata: dict[str, TensorStorageMetadata | BytesStorageMetadata]
    planner_data: Any = None
    storage_data: Any = None
    storage_meta: StorageMeta | None = None
    version: str | None = None


@dataclass(frozen=True)
class MetadataIndex:
    """Names a stored block: of which value, and for a tensor where it begins in it."""

    fqn: str
    offset: torch.Size | None = None
    index: int | None = field(hash=False, compare=False, default=None)


attach(__name__)
