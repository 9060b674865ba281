"""torch.Stream and torch.Event: the order of work on the accelerator, or on the CPU that stands in for it.

A call's work is done when it returns, on every device that there is so far, so one stream is all there is and
waiting returns at once; an event still tells the time at which it was recorded.
"""

import time

import ms_adapter.pytorch as torch
from ms_adapter import _C


def _device(device):
    """The device that a stream or an event is on; the accelerator, or ``cpu``, when left out."""
    found = _C.accelerator() if device is None else torch.device(device)
    if found.type == "meta":
        raise RuntimeError("Stream: nothing is computed on the device 'meta', so there is no order of it.")
    return found


class Stream:
    """The order in which operators run on a device; there is one, whatever the number of objects.

    Args:
        device: the device, as for ``torch.device``; the accelerator when left out.
        priority: accepted.

    >>> import ms_adapter.pytorch as torch
    >>> stream = torch.Stream("cpu")
    >>> with stream:
    ...     x = torch.ones(2) + 1
    >>> stream.query(), x.tolist()
    (True, [2.0, 2.0])
    """

    def __init__(self, device=None, *, priority=0, **ids):
        self.device = _device(device)
        self.priority = priority
        self.stream_id = self.cuda_stream = 0

    @property
    def device_index(self):
        """The number of the device; the CPU has none, -1."""
        return -1 if self.device.type == "cpu" else self.device.index or 0

    def query(self):
        """True: what was given to it is done."""
        return True

    def synchronize(self):
        """Nothing to wait for."""

    def wait_stream(self, stream):
        """Nothing: all work runs in one order."""

    def wait_event(self, event):
        """Nothing: all work runs in one order."""

    def record_event(self, event=None):
        """Record an event, a new one when left out, and return it."""
        event = Event(self.device) if event is None else event
        event.record(self)
        return event

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass

    def __eq__(self, other):
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self):
        return hash(self.device)

    def __repr__(self):
        return f"torch.Stream device_type={self.device.type}, device_index={self.device_index}, stream_id=0"


class Event:
    """A point in the order of work on a device.

    Args:
        device: the device; the accelerator when left out.
        enable_timing: whether :meth:`elapsed_time` may be asked.
        blocking, interprocess: accepted.

    >>> import ms_adapter.pytorch as torch
    >>> begin, end = (torch.Event("cpu", enable_timing=True) for _ in range(2))
    >>> begin.record(); _ = torch.ones(8).sum(); end.record()
    >>> begin.elapsed_time(end) > 0
    True
    """

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        self.device = _device(device)
        self._enable_timing = enable_timing
        self._seconds = None

    def record(self, stream=None):
        """Note that the work so far is done, and when."""
        self._seconds = time.perf_counter()

    def elapsed_time(self, end_event):
        """The milliseconds from this event to another.

        Raises RuntimeError where one was not recorded, ValueError where one does not keep the time.
        """
        if not (self._enable_timing and end_event._enable_timing):
            raise ValueError("Event.elapsed_time: make both events with enable_timing=True.")
        if self._seconds is None or end_event._seconds is None:
            raise RuntimeError("Event.elapsed_time: both events must be recorded first.")
        return 1e3 * (end_event._seconds - self._seconds)

    def query(self):
        """True: what came before it is done."""
        return True

    def synchronize(self):
        """Nothing: recording it waited."""

    def wait(self, stream=None):
        """Nothing: all work runs in one order."""

    def ipc_handle(self):
        """Raises NotImplementedError: an event stays in its process."""
        raise NotImplementedError("Event.ipc_handle: events cannot be shared between processes.")

    def __repr__(self):
        return f"torch.Event device_type={self.device.type}, recorded={self._seconds is not None}"


class StreamContext:
    """``with torch.cuda.stream(s)``: the work inside is given to ``s``; ``None`` changes nothing."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        return self.stream

    def __exit__(self, *exc_info):
        pass


def current_stream(device=None):
    """The stream of a device, the accelerator's when left out."""
    return torch.Stream(device)
