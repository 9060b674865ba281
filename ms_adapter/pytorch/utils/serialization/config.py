"""What torch.save and torch.load do where a call does not say: plain attributes, changed by assignment."""

import mmap as _mmap


class load:
    """``torch.load``."""

    mmap: bool = False
    endianness = None  # a LoadEndianness, for files that do not say theirs
    mmap_flags: int = _mmap.MAP_PRIVATE
    calculate_storage_offsets: bool = False  # accepted: offsets are read from the file


class save:
    """``torch.save``."""

    compute_crc32: bool = True
    use_pinned_memory_for_d2h: bool = False  # accepted: there is no pinned memory
    storage_alignment: int = 64  # bytes
