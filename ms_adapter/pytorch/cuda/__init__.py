"""torch.cuda: the accelerator, or truthful answers and a CPU that stands in where there is none."""

import ms_adapter.pytorch as torch

from .. import _missing, _no_accelerator, _standin
from .._basics import OutOfMemoryError
from .._standin import *  # noqa: F403 - the same answers as torch.npu's
from .._stream import Event as _Event
from .._stream import Stream as _Stream
from .._stream import StreamContext
from . import amp, graphs, nvtx, random
from .graphs import CUDAGraph, graph

default_generators = ()
_HANDLES = ["make_graphed_callables", "graph_pool_handle", "utilization", "temperature"]
globals().update((name, _no_accelerator.refusing_function(__name__, name)) for name in _HANDLES)


class Stream(_Stream):
    """A :class:`torch.Stream` of the accelerator."""

    def __init__(self, device=None, priority=0, **ids):
        super().__init__(_standin.meant(device), priority=priority)


ExternalStream = Stream


class Event(_Event):
    """A :class:`torch.Event` of the accelerator."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        super().__init__(_standin.meant(), enable_timing=enable_timing)


def current_stream(device=None):
    """The accelerator's stream."""
    return Stream(device)


default_stream = current_stream


def is_tf32_supported():
    """False: float32 is float32."""
    return False


def __getattr__(name):
    """``torch.cuda.FloatTensor`` and the like: the classes for tensors of ``cpu``, which stands in."""
    if name.endswith(("Tensor", "Storage")) and hasattr(torch, name):
        _standin.meant()
        return getattr(torch, name)
    return _missing.explain(__name__, name)
