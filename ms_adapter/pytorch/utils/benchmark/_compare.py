"""Compare: measurements as tables, a row for each task and a column for each description."""

import enum
import math

from ._measure import Measurement, ordered_unique, select_unit, trim_sigfig, unit_to_english

_BOLD, _END = "\033[1m", "\033[0m"
_BEST, _GOOD, _BAD, _VERY_BAD = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m"


class Colorize(enum.Enum):
    """What a time's colour compares it with: nothing, its column, its row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


def _coloured(text, value, best):
    if value <= best * 1.01 or value <= best + 100e-9:
        start = _BEST + _BOLD
    elif value <= best * 1.1:
        start = _GOOD + _BOLD
    elif value >= best * 5:
        start = _VERY_BAD + _BOLD
    elif value >= best * 2:
        start = _BAD
    else:
        return text
    return start + text + _END * 2


class _Column:
    """The times of one column as texts of one width."""

    def __init__(self, name, cells, scale, trims, shows_spread):
        self.name, self.cells, self.scale, self.trims = name or "", cells, scale, trims
        found = [cell for cell in cells if cell is not None]
        before = [math.ceil(math.log10(cell.median / scale)) for cell in found]
        self.decimals = 1
        if trims:
            pairs = zip(found, before, strict=True)
            self.decimals = min(max(cell.significant_figures - digits, 0) for cell, digits in pairs)
        self.number_width = max(before) + self.decimals + (1 if self.decimals else 0)
        self.spread_width = 7 if shows_spread and any(cell.has_warnings for cell in found) else 0
        self.width = max(len(self.name), *(len(self.text(i)) for i in range(len(cells))), 0)

    def text(self, i):
        """The text of row ``i``, not yet padded."""
        cell = self.cells[i]
        if cell is None:
            return ""
        value = cell.median / self.scale
        if self.trims:
            value = trim_sigfig(value, cell.significant_figures)
        spread = ""
        if self.spread_width and cell.has_warnings:
            spread = f" (! {cell.iqr / cell.median * 100:.0f}%)"
        return f"{value:>{self.number_width}.{self.decimals}f}{spread:>{self.spread_width}}"


class _Table:
    """The measurements of one label."""

    def __init__(self, results, colorize, trims, shows_spread):
        self.label, self.colorize = results[0].label, colorize
        self.unit, scale = select_unit(min(result.median for result in results))
        self.rows = sorted(
            ordered_unique(_row_key(r) for r in results), key=lambda key: (key[0], key[1] or "")
        )
        by_place = {}
        for result in results:
            by_place.setdefault((_row_key(result), result.description), []).append(result)
        found = {
            place: measured[0] if len(measured) == 1 else Measurement.merge(measured)[0]
            for place, measured in by_place.items()
        }
        names = ordered_unique(result.description for result in results)
        self.columns = [
            _Column(name, [found.get((row, name)) for row in self.rows], scale, trims, shows_spread)
            for name in names
        ]

    def _row_names(self):
        """The rows' names, behind that of their environment where another one begins."""
        width = max(len(env or "") for _, env, _ in self.rows) + 4
        texts, before = [], None
        for threads, env, name in self.rows:
            begins = env and (threads, env) != before
            texts.append(f"{f'({env})' if begins else '':>{width}}  {name}")
            before = threads, env
        return texts

    def _best(self, i, column):
        cells = column.cells
        if self.colorize is Colorize.ROWWISE:
            cells = [each.cells[i] for each in self.columns]
        return min(cell.median for cell in cells if cell is not None)

    def _cell(self, i, column):
        text = column.text(i).center(column.width)
        if self.colorize is Colorize.NONE or column.cells[i] is None:
            return text
        return _coloured(text, column.cells[i].median, self._best(i, column))

    def render(self):
        """The table as lines."""
        names = self._row_names()
        first = max(map(len, names))
        head = "  |  ".join([" " * first, *(column.name.center(column.width) for column in self.columns)])
        label = f" {self.label} " if self.label else ""
        lines = [f"[{label.center(len(head) - 2, '-')}]", head]
        threads = None
        for i, (row, name) in enumerate(zip(self.rows, names, strict=True)):
            if row[0] != threads:
                threads = row[0]
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            lines.append(
                "  |  ".join([name.rjust(first), *(self._cell(i, column) for column in self.columns)])
            )
        return lines


def _row_key(result):
    return result.num_threads, result.env, result.as_row_name


class Compare:
    """Tables of measurements.

    >>> from ms_adapter.pytorch.utils.benchmark import Compare, Measurement, TaskSpec
    >>> tasks = [TaskSpec("f()", "pass", label="speed", sub_label="f", description=d) for d in ("old", "new")]
    >>> times = [Measurement(1, [t], task) for t, task in zip((2e-3, 1e-3), tasks)]
    >>> print(Compare(times))  # doctest: +NORMALIZE_WHITESPACE
    [------- speed -------]
             |  old  |  new
    1 threads: ------------
          f  |  2.0  |  1.0
    <BLANKLINE>
    Times are in milliseconds (ms).
    <BLANKLINE>
    """

    def __init__(self, results):
        self._results = []
        self._trims = self._shows_spread = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results):
        """More measurements."""
        for result in results:
            if not isinstance(result, Measurement):
                raise ValueError(f"Compare: expected Measurements, got {type(result).__name__}.")
        self._results.extend(results)

    def trim_significant_figures(self):
        """Show the digits that mean something."""
        self._trims = True

    def colorize(self, rowwise=False):
        """Mark fast and slow ones, within each column or each row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self):
        """Show the spread beside times that spread too far."""
        self._shows_spread = True

    def __str__(self):
        return "\n".join(self._render())

    def _render(self):
        tables = []
        for label in ordered_unique(result.label for result in self._results):
            results = [result for result in self._results if result.label == label]
            table = _Table(results, self._colorize, self._trims, self._shows_spread)
            footer = f"\nTimes are in {unit_to_english(table.unit)}s ({table.unit}).\n"
            if self._shows_spread:
                footer += "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"
            tables.append("\n".join([*table.render(), footer]))
        return tables

    def print(self):
        """Print the tables."""
        print(self)
