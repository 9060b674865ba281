"""torch.accelerator: the device that speeds up work, whatever its name, or the CPU in its place."""

from ms_adapter import _C

from . import _standin
from ._standin import (
    device as device_index,
)
from ._standin import (
    device_count,
    empty_cache,
    get_device_capability,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_stream,
    synchronize,
)
from ._standin import (
    mem_get_info as get_memory_info,
)
from ._stream import current_stream

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def _get_accelerator(check=None):
    """What the accelerator's name means: itself, or ``cpu`` where there is none."""
    return _C.accelerator()


_C._get_accelerator = _get_accelerator  # the name that libraries take


def current_accelerator(check_available=False):
    """The accelerator as a ``torch.device``, or None where there is none."""
    return _standin.meant() if is_available() else None


def current_device_index():
    """0: the only one."""
    return _standin.current_device()


def set_device_index(device):
    """Nothing to choose from: there is one device, or the CPU stands in for it."""
    _standin.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def empty_host_cache():
    """No cache to empty."""
