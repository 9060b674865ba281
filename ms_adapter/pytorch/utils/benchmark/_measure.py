"""What was timed and what came of it: tasks, measurements, and how numbers are shown."""

import contextlib
import dataclasses
import math
import statistics
import textwrap

import ms_adapter.pytorch as torch

_UNITS = {
    "ns": ("nanosecond", 1e-9),
    "us": ("microsecond", 1e-6),
    "ms": ("millisecond", 1e-3),
    "s": ("second", 1.0),
}
_MOST_DIGITS = 4
_LEAST_INTERVAL_S = 25e-9  # what the clock cannot tell apart
_WARNS, _WARNS_LOUDLY = 0.1, 0.25  # spread relative to the median


def select_unit(t):
    """The unit in which ``t`` seconds read well, and its size in seconds.

    >>> from ms_adapter.pytorch.utils.benchmark import select_unit
    >>> select_unit(3e-7)
    ('ns', 1e-09)
    """
    power = math.floor(math.log10(t)) // 3
    unit = {-3: "ns", -2: "us", -1: "ms"}.get(power, "s")
    return unit, _UNITS[unit][1]


def unit_to_english(u):
    """A unit's name: "us" is "microsecond"."""
    return _UNITS[u][0]


def trim_sigfig(x, n):
    """``x`` rounded to ``n`` significant digits."""
    scale = 10 ** (math.ceil(math.log10(abs(x))) - n)
    return float(round(x / scale) * scale)


def ordered_unique(elements):
    """The different ones of hashable elements, in the order of their first appearance."""
    return list(dict.fromkeys(elements))


@contextlib.contextmanager
def set_torch_threads(n):
    """A block in which kernels use ``n`` threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(n)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclasses.dataclass(init=True, repr=False, eq=True, frozen=True)
class TaskSpec:
    """What a timer times, and how it is called in tables."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self):
        """Its name: the label, or the statement itself."""
        if self.label is not None or "\n" not in self.stmt:
            name = self.stmt if self.label is None else self.label
            return f"{name}: {self.sub_label}" if self.sub_label else name
        of = f" ({self.sub_label})" if self.sub_label else ""
        return f"stmt:{of}\n{textwrap.indent(self.stmt, '  ')}"

    def setup_str(self):
        """The setup, empty where it does nothing."""
        if self.setup == "pass" or not self.setup:
            return ""
        return (
            f"setup:\n{textwrap.indent(self.setup, '  ')}" if "\n" in self.setup else f"setup: {self.setup}"
        )

    def summarize(self):
        """Title, description and setup, one below the other."""
        parts = [self.title, self.description or "", self.setup_str()]
        return "\n".join(f"{part}\n" if "\n" in part else part for part in parts if part)


def _quantile(ordered, q):
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


@dataclasses.dataclass(init=True, repr=False)
class Measurement:
    """Seconds that ``number_per_run`` runs of a task took, each time.

    >>> from ms_adapter.pytorch.utils.benchmark import Measurement, TaskSpec
    >>> m = Measurement(10, [2e-5, 2.1e-5, 2.2e-5], TaskSpec("f(x)", "pass"))
    >>> m.median, m.title
    (2.1e-06, 'f(x)')
    """

    number_per_run: int
    raw_times: list
    task_spec: TaskSpec
    metadata: dict | None = None

    def __getattr__(self, name):
        if name.startswith("__") or name == "task_spec":
            raise AttributeError(name)
        return getattr(self.task_spec, name)

    @property
    def times(self):
        """Seconds of one run, each time."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def _ordered(self):
        if not self.raw_times:
            raise ValueError("Measurement: there are no times.")
        return sorted(self.times)

    @property
    def median(self):
        """The median of a run's seconds."""
        return statistics.median(self._ordered)

    @property
    def mean(self):
        """The mean of a run's seconds."""
        return math.fsum(self._ordered) / len(self.raw_times)

    @property
    def iqr(self):
        """How far the middle half of the times spreads, in seconds."""
        return _quantile(self._ordered, 0.75) - _quantile(self._ordered, 0.25)

    @property
    def significant_figures(self):
        """How many digits of the median mean something: by its confidence interval of 90 %, four at most."""
        ordered = self._ordered
        middle = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        interval = 1.645 * statistics.pstdev(middle) / math.sqrt(len(middle))
        digits = math.floor(math.log10(self.median / max(interval, _LEAST_INTERVAL_S)))
        return min(max(digits, 1), _MOST_DIGITS)

    @property
    def has_warnings(self):
        """Whether the times spread too far for a good measurement."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold=_WARNS):
        """Whether the middle half spreads less than ``threshold`` times the median."""
        return self.iqr / self.median < threshold

    @property
    def title(self):
        """The task's title."""
        return self.task_spec.title

    @property
    def env(self):
        """The task's environment, None where it has no name."""
        return self.task_spec.env

    @property
    def as_row_name(self):
        """What tables call it."""
        return self.sub_label or self.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements):
        """One measurement for each task, of all its times."""
        times = {}
        for measurement in measurements:
            times.setdefault(measurement.task_spec, []).extend(measurement.times)
        return [Measurement(1, found, task) for task, found in times.items()]

    def __repr__(self):
        unit, scale = select_unit(self.median)
        text = f"{self.median / scale:.2f} {unit}"
        several = len(self.raw_times) > 1
        lines = [
            object.__repr__(self),
            self.task_spec.summarize(),
            f"  Median: {text}" if several else f"  {text}",
        ]
        if len(self.raw_times) >= 4:
            edges = (_quantile(self._ordered, q) / scale for q in (0.25, 0.75))
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit} ({next(edges):.2f} to {next(edges):.2f})")
        runs = f"{self.number_per_run} runs {'per measurement,' if several else ','}"
        threads = f"{self.num_threads} thread{'s' if self.num_threads > 1 else ''}"
        lines.append(f"  {len(self.raw_times)} measurement{'s' if several else ''}, {runs} {threads}")
        if self.has_warnings:
            spread = self.iqr / self.median
            lines.append(f"  WARNING: Interquartile range is {spread * 100:.1f}% of the median measurement.")
            loudly, quietly = (
                "suggests significant environmental influence",
                "could indicate system fluctuation",
            )
            lines.append(f"           This {loudly if spread > _WARNS_LOUDLY else quietly}.")
        return "\n".join(lines)
