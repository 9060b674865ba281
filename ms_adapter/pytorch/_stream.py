"""torch.Stream and torch.Event: the order of work on a device and points in it; a CPU has none to wait for."""

__all__ = ["Event", "Stream"]


def _device(device):
    import ms_adapter.pytorch as torch

    found = torch.device("cpu" if device is None else device)
    if found.type != "cpu":
        raise RuntimeError(
            f"Stream: cannot access accelerator device {found} when none is available. Leave the device out."
        )
    return found


class _OnDevice:
    def __init__(self, device=None):
        self.device = _device(device)

    @property
    def device_index(self):
        """-1: the CPU has no index."""
        return -1

    def query(self):
        """True: all work given is done."""
        return True

    def synchronize(self):
        """Nothing to wait for."""


class Event(_OnDevice):
    """A point in the order of work; it has always been reached."""

    def __init__(self, device=None, *, enable_timing=False, blocking=False, interprocess=False):
        super().__init__(device)

    def record(self, stream=None):
        """Nothing to record."""

    def wait(self, stream=None):
        """Nothing to wait for."""


class Stream(_OnDevice):
    """The order in which a device works.

    >>> import ms_adapter.pytorch as torch
    >>> with torch.Stream() as stream:
    ...     x = torch.ones(2)
    >>> stream.query()
    True
    """

    stream_id = 0

    def __init__(self, device=None, *, priority=0):
        super().__init__(device)

    def record_event(self, event=None):
        """An event that has been reached."""
        return event or Event(self.device)

    def wait_event(self, event):
        """Nothing to wait for."""

    def wait_stream(self, stream):
        """Nothing to wait for."""

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return False
