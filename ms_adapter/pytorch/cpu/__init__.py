"""torch.cpu: the CPU asked like an accelerator; a call's work is done when it returns, so nobody waits."""

import contextlib

import ms_adapter.pytorch as torch

from . import amp

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


class Stream:
    """The order in which operators run; there is one."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing: all work given before is done."""

    def record_event(self):
        """An event that has happened."""

    def wait_event(self, event):
        """Nothing: the event has happened."""


class Event:
    """A point in the order of operators; it has always happened."""

    def query(self):
        """True."""
        return True

    def record(self, stream=None):
        """Nothing to record."""

    def synchronize(self):
        """Nothing to wait for."""

    def wait(self, stream=None):
        """Nothing to wait for."""


_stream = Stream()


def is_available():
    """True."""
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """1, however many cores it has."""
    return 1


def current_device():
    """ "cpu"."""
    return "cpu"


def set_device(device):
    """Checks that ``device`` is the CPU."""
    if torch.device(device).type != "cpu":
        raise RuntimeError(f"torch.cpu.set_device: {device} is not the CPU.")


def synchronize(device=None):
    """Nothing to wait for."""


def current_stream(device=None):
    """The one stream."""
    return _stream


def stream(stream):
    """A context in which ``stream`` is the current one."""
    return contextlib.nullcontext(stream)


StreamContext = contextlib.nullcontext
