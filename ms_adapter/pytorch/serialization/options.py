"""The settings of torch.save and torch.load as functions and ``with`` blocks."""

import enum
import mmap
import threading

from ..utils.serialization import config


class LoadEndianness(enum.Enum):
    """The byte order to assume for files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class SourceChangeWarning(Warning):
    """PyTorch's warning that a class changed since a file was written; ours does not compare sources."""


class _PerThread(threading.local):
    skip_data = False


_per_thread = _PerThread()


def get_default_load_endianness():
    """The byte order assumed for files that do not say theirs; None: this machine's."""
    return config.load.endianness


def set_default_load_endianness(endianness):
    """Assume this :class:`LoadEndianness` (None: this machine's) for files that do not say theirs."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError(
            f"set_default_load_endianness takes a LoadEndianness or None, not {type(endianness).__name__}"
        )
    config.load.endianness = endianness


def get_crc32_options():
    """Whether ``torch.save`` writes checksums."""
    return config.save.compute_crc32


def set_crc32_options(compute_crc32):
    """Whether ``torch.save`` writes checksums; without them damage goes unseen and unzip complains."""
    config.save.compute_crc32 = bool(compute_crc32)


def get_default_mmap_options():
    """How ``torch.load(..., mmap=True)`` maps: ``mmap.MAP_PRIVATE`` or ``mmap.MAP_SHARED``."""
    return config.load.mmap_flags


class set_default_mmap_options:
    """Map as ``mmap.MAP_PRIVATE`` (changes stay in memory) or ``mmap.MAP_SHARED`` (they go to the file).

    Called, it holds from then on; in a ``with`` statement, within the block.
    """

    def __init__(self, flags):
        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE or "
                f"mmap.MAP_SHARED, but got {flags}"
            )
        self.prev, config.load.mmap_flags = config.load.mmap_flags, flags

    def __enter__(self):
        return None

    def __exit__(self, *exc_info):
        config.load.mmap_flags = self.prev


class skip_data:
    """Within the block ``torch.save`` leaves storages' room in the file empty, and ``torch.load`` leaves
    storages unfilled: the bytes are written and read by other means.
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors  # there are no fake tensors

    def __enter__(self):
        self._old, _per_thread.skip_data = _per_thread.skip_data, True

    def __exit__(self, *exc_info):
        _per_thread.skip_data = self._old


def skipping_data():
    """Whether this thread is in a :class:`skip_data` block."""
    return _per_thread.skip_data
