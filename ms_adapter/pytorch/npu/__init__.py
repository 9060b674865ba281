"""torch.npu: what scripts for Ascend call, for the device `npu` or for the accelerator chosen in its place.

Where there is neither, questions are answered truthfully (``is_available()`` is False, ``device_count()`` 0),
and what needs the device raises RuntimeError, which says what was looked for.
"""

import functools

import ms_adapter.pytorch as torch
from ms_adapter.mindspore import ascend

from .. import _no_accelerator, _standin
from .._standin import *  # noqa: F403 - the same answers as torch.cuda's
from .._stream import StreamContext
from ..cuda import Event as _Event
from ..cuda import Stream as _Stream
from . import amp


def _needing_it(function):
    """The function, after the device was asked for."""

    @functools.wraps(function)
    def call(*args, **kwargs):
        torch.device("npu")
        return function(*args, **kwargs)

    return call


globals().update((name, _needing_it(getattr(_standin, name))) for name in _no_accelerator.NEED_ONE)


class device(_standin.device):
    """``with torch.npu.device(0)``: changes nothing, as there is one device."""

    def __enter__(self):
        torch.device("npu")
        return self


class Stream(_Stream):
    """A :class:`torch.Stream` of the device."""

    def __init__(self, device=None, priority=0, **ids):
        super().__init__(_standin.meant_npu(device), priority=priority)


class Event(_Event):
    """A :class:`torch.Event` of the device."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        torch.device("npu")
        super().__init__(enable_timing=enable_timing)


def is_available():
    """Whether there is MindSpore on Ascend, or an accelerator chosen in its place."""
    return _standin.is_available() or ascend.available()


def device_count():
    """How many of them this process uses: 0 or 1."""
    return int(is_available())


is_initialized = is_available


def current_stream(device=None):
    """The device's stream."""
    return Stream(device)


default_stream = current_stream


def set_compile_mode(jit_compile=False):
    """Accepted: operators are not compiled on the way."""


def set_option(option):
    """Accepted: there is no compiler of Ascend to set."""
