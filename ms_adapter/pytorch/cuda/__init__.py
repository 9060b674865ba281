"""torch.cuda: truthful answers on a machine without CUDA; ``cuda`` as a device means ``cpu``, said once."""

import warnings

import ms_adapter.pytorch as torch

from .. import _no_accelerator
from . import amp, graphs, random
from .graphs import CUDAGraph, graph
from .random import get_rng_state, get_rng_state_all, set_rng_state, set_rng_state_all

default_generators = ()

_said = False


def _target(device=None):
    """The device that a CUDA device stands for."""
    global _said
    if not _said:
        _said = True
        warnings.warn(
            "ms_adapter: this machine has no CUDA device; 'cuda' means 'cpu' from here on.", stacklevel=3
        )
    return torch.device("cpu")


def is_available():
    """False: there is no CUDA here."""
    return False


def is_initialized():
    """False: there is no CUDA here."""
    return False


def is_bf16_supported(including_emulation=True):
    """False: there is no CUDA here."""
    return False


def device_count():
    """0: there is no CUDA here."""
    return 0


def init():
    """Nothing to initialise."""


def _refuse(name):
    def refuse(*args, **kwargs):
        raise RuntimeError(
            f"torch.cuda.{name}: no CUDA device is available. Check torch.cuda.is_available() first."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises: there is no CUDA device to ask."
    return refuse


current_device = _refuse("current_device")
set_device = _refuse("set_device")
get_device_name = _refuse("get_device_name")
get_device_capability = _refuse("get_device_capability")
get_device_properties = _refuse("get_device_properties")
mem_get_info = _refuse("mem_get_info")
current_stream = _refuse("current_stream")
default_stream = _refuse("default_stream")
is_current_stream_capturing = _refuse("is_current_stream_capturing")
Stream = _no_accelerator.refusing_class(__name__, "Stream")
Event = _no_accelerator.refusing_class(__name__, "Event")
synchronize = _refuse("synchronize")


def manual_seed(seed):
    """Nothing to seed: PyTorch too ignores this without CUDA."""


def manual_seed_all(seed):
    """Nothing to seed: PyTorch too ignores this without CUDA."""


def empty_cache():
    """No cache to empty."""


def memory_allocated(device=None):
    """0: no CUDA memory is in use."""
    return 0


def max_memory_allocated(device=None):
    """0: no CUDA memory was in use."""
    return 0


def memory_reserved(device=None):
    """0: no CUDA memory is reserved."""
    return 0


def reset_peak_memory_stats(device=None):
    """No statistics to reset."""


class StreamContext:
    """A context in which a stream is the current one; there is None only."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return None

    def __exit__(self, *exception):
        return False


def stream(stream):
    """A context in which ``stream``, None here, is the current one."""
    return StreamContext(stream)


_no_accelerator.fill(__name__)
