"""torch.autograd.profiler: which operators a block ran, and how long each took."""

import functools
import threading
import warnings

from ms_adapter import _C

from .profiler_util import EventList, FunctionEvent, FunctionEventAvg, nested

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "profile", "record_function"]

_timeline = _C.timeline


class _Blocks(threading.local):
    """The blocks of record_function while a profile runs in this thread; None while none runs."""

    found = None


_blocks = _Blocks()


def start():
    """Begin to time operators and blocks in this thread."""
    _timeline.start()
    _blocks.found = []


def _profiler_enabled():
    """Whether a profile runs in this thread."""
    return _blocks.found is not None


def _disable_profiler():
    """End the profile of this thread, whose events are lost."""
    if _profiler_enabled():
        stop()


def stop():
    """The events since :func:`start`."""
    calls, blocks, now = _timeline.stop(), _blocks.found, _timeline.now()
    _blocks.found = None
    operators = ((f"aten::{name}", begin, end or now, False) for name, begin, end in calls)
    return nested([*operators, *((name, begin, end or now, True) for name, begin, end in blocks)])


class record_function:
    """A block, or with ``@record_function(name)`` a function, that profiles show under a name.

    >>> import ms_adapter.pytorch as torch
    >>> with torch.autograd.profiler.profile() as p, torch.autograd.profiler.record_function("block"):
    ...     _ = torch.ones(2) + 1
    >>> [event.name for event in p.events()]
    ['block', 'aten::ones', 'aten::add']
    """

    def __init__(self, name, args=None):
        self.name, self.args = name, args
        self._open = []  # for each time the block was entered and not yet left

    def __enter__(self):
        entry = [self.name, _timeline.now(), 0] if _blocks.found is not None else None
        if entry is not None:
            _blocks.found.append(entry)
        self._open.append(entry)
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        entry = self._open.pop()
        if entry is not None:
            entry[2] = _timeline.now()

    def __call__(self, function):
        @functools.wraps(function)
        def decorate(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return decorate


def say_what_is_missing(who, options):
    """Warn of options that are on and change nothing here."""
    if asked := [name for name, value in options.items() if value]:
        warnings.warn(
            f"{who}: {', '.join(asked)} is not supported: times of operators are all that is recorded.",
            stacklevel=4,
        )


class profile:
    """Times every operator of the block, in forward and in backward, on this thread.

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as p:
    ...     x.exp().sum().backward()
    >>> counts = {row.key: row.count for row in p.key_averages()}
    >>> counts["aten::exp"], counts["aten::sum"]
    (1, 1)
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
    ):
        options = {
            "use_cuda": use_cuda,
            "record_shapes": record_shapes,
            "with_flops": with_flops,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_modules": with_modules,
        }
        say_what_is_missing("profile", options)
        self.enabled, self.function_events = enabled, None

    def __enter__(self):
        if self.enabled:
            start()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        if self.enabled:
            self.function_events = stop()
        return False

    def _finished(self):
        if self.function_events is None:
            raise RuntimeError("profile: the block has not ended, or the profile is not enabled.")
        return self.function_events

    def events(self):
        """All events in the order of their beginnings."""
        return self._finished()

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        """The sums of the events of each name; ``.table()`` shows them."""
        return self._finished().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self):
        """The sum of all events."""
        return self._finished().total_average()

    @property
    def self_cpu_time_total(self):
        """Microseconds of all."""
        return self._finished().self_cpu_time_total

    def table(self, *args, **kwargs):
        """The table of the events themselves, see ``EventList.table``."""
        return self._finished().table(*args, **kwargs)

    def export_chrome_trace(self, path):
        """Write a trace that chrome://tracing and Perfetto show."""
        self._finished().export_chrome_trace(path)

    def __str__(self):
        return "<unfinished profile>" if self.function_events is None else str(self.key_averages())


def _refuse(name):
    class Refused:
        def __init__(self, *args, **kwargs):
            raise NotImplementedError(
                f"torch.autograd.profiler.{name}: marks for a vendor's tools are not supported; use profile."
            )

    Refused.__name__ = Refused.__qualname__ = name
    Refused.__doc__ = "Raises: marks for another vendor's tools are not supported."
    return Refused


emit_nvtx, emit_itt = _refuse("emit_nvtx"), _refuse("emit_itt")
