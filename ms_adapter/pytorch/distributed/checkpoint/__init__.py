"""torch.distributed.checkpoint in one process: states in folders, which PyTorch reads and writes, too."""

from ..._missing import attach
from .default_planner import DefaultLoadPlanner, DefaultSavePlanner
from .filesystem import FileSystemReader, FileSystemWriter
from .metadata import (
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    TensorStorageMetadata,
)
from .state_dict_loader import load, load_state_dict
from .state_dict_saver import async_save, save, save_state_dict

__all__ = [
    "BytesStorageMetadata", "ChunkStorageMetadata", "DefaultLoadPlanner", "DefaultSavePlanner",
    "FileSystemReader", "FileSystemWriter", "Metadata", "TensorStorageMetadata", "async_save", "load",
    "load_state_dict", "save", "save_state_dict",
]  # fmt: skip

attach(__name__)  # planners and writers of one's own are placeholders
