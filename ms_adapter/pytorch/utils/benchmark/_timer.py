"""Timer: runs a statement often enough that the clock can tell."""

import enum
import textwrap
import timeit

from ._measure import Measurement, TaskSpec, set_torch_threads

timer = timeit.default_timer


class Language(enum.Enum):
    """What statements are written in."""

    PYTHON = 0
    CPP = 1


def _tidy(name, text):
    """A statement without common indentation and without empty lines around it."""
    if not isinstance(text, str):
        raise ValueError(f"Timer: {name} must be a string, not {type(text).__name__}.")
    return textwrap.dedent(text).strip("\n").rstrip()


class Timer:
    """Times a statement, as ``timeit.Timer`` does, on as many threads as asked for.

    Args:
        stmt: the statement.
        setup: runs once before each series of runs.
        global_setup: for C++ only.
        timer: the clock.
        globals: names that the statements see.
        label, sub_label, description, env: what tables call it: the table, the row, the column, the variant.
        num_threads: threads that kernels use meanwhile (1).
        language: Python; C++ is not supported.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.utils.benchmark import Timer
    >>> m = Timer("x + x", globals={"x": torch.ones(4)}).timeit(100)
    >>> m.number_per_run, 0 < m.median < 1
    (100, True)
    """

    _timer_cls = timeit.Timer

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=timer,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language=Language.PYTHON,
    ):
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError(f"Timer: statements are Python, {language!r} is not supported.")
        if global_setup:
            raise ValueError("Timer: global_setup is for C++ only; use setup.")
        stmt, setup = _tidy("stmt", stmt), _tidy("setup", setup)
        names = {"torch": _torch(), **dict(globals or {})}
        self._globals = names
        self._timer = self._timer_cls(stmt=stmt, setup=setup, timer=timer, globals=names)
        self._task_spec = TaskSpec(stmt, setup, global_setup, label, sub_label, description, env, num_threads)

    def _seconds(self, number):
        """What ``number`` runs take; never 0, whatever the clock."""
        return max(self._timer.timeit(number), 1e-9)

    def _measurement(self, number, times):
        return Measurement(number, times, self._task_spec)

    def timeit(self, number=1000000):
        """One series of ``number`` runs, after a short one to warm up."""
        with set_torch_threads(self._task_spec.num_threads):
            self._timer.timeit(max(number // 100, 2))
            return self._measurement(number, [self._seconds(number)])

    def repeat(self, repeat=-1, number=-1):
        """Raises NotImplementedError, as PyTorch's: use :meth:`blocked_autorange`."""
        raise NotImplementedError("Timer.repeat: use blocked_autorange.")

    def autorange(self, callback=None):
        """Raises NotImplementedError, as PyTorch's: use :meth:`blocked_autorange`."""
        raise NotImplementedError("Timer.autorange: use blocked_autorange.")

    def _number_for(self, seconds, overhead_share=1e-4):
        """How many runs make one measurement: long beside its own cost, short beside ``seconds``."""
        overhead = min(self._timer_cls("pass", timer=self._timer.timer).timeit(0) for _ in range(5))
        number = 1
        while True:
            took = self._seconds(number)
            if took > seconds / 1000 and overhead / took < overhead_share or took > seconds:
                return number
            number *= 10

    def _series(self, number, seconds, enough, callback=None, most=float("inf")):
        """Times until they sum to ``seconds`` and are enough, or sum to ``most``."""
        times, total = [], 0.0
        while (total < seconds or not enough(times)) and total < most:
            times.append(self._seconds(number))
            total += times[-1]
            if callback is not None:
                callback(number, times[-1])
        return times

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Blocks of runs, so long that the clock's cost does not count, for ``min_run_time`` seconds in all.

        ``callback(number, seconds)`` is called after each block.
        """
        with set_torch_threads(self._task_spec.num_threads):
            number = self._number_for(min_run_time)
            return self._measurement(number, self._series(number, min_run_time, bool, callback))

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """As :meth:`blocked_autorange`, until the times' middle half spreads less than ``threshold``."""
        with set_torch_threads(self._task_spec.num_threads):
            number = self._number_for(0.05)

            def enough(times):
                return len(times) > 3 and self._measurement(number, times).meets_confidence(threshold)

            times = self._series(number, min_run_time, enough, callback, max_run_time)
            return self._measurement(number, times)

    def collect_callgrind(self, number=100, *, repeats=None, collect_baseline=True, retain_out_file=False):
        """Raises NotImplementedError: counting instructions needs Valgrind."""
        raise NotImplementedError(
            "Timer.collect_callgrind: counting instructions is not supported; use timeit."
        )


def _torch():
    import ms_adapter.pytorch as torch

    return torch
