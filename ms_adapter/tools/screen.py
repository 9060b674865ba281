"""The look of all tools: tables, lines and progress through rich, or nothing but JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

NEEDS_RICH = (
    "the tables need the package rich: pip install 'ms_adapter[tools]' (or pip install rich). "
    "With --json it is not needed."
)


_UNBOUNDED = 10_000  # characters: a table takes what it needs


class Screen:
    """Where a tool shows what it finds. With `--json` only `result` is printed, at the end."""

    def __init__(self, as_json: bool = False) -> None:
        self.as_json = as_json
        self.result: dict[str, Any] = {}
        self._console: Any = None
        self._errors: Any = None

    def _rich(self) -> Any:
        if self._console is None:
            try:
                from rich.console import Console
            except ImportError:
                from ms_adapter.tools.frame import ToolError

                raise ToolError(NEEDS_RICH) from None
            self._console = Console(highlight=False)
            self._errors = Console(stderr=True, highlight=False)
            if not self._console.is_terminal:
                self._console.width = _UNBOUNDED  # files and pipes do not wrap
        return self._console

    @property
    def width(self) -> int:
        """Characters in a line."""
        return 0 if self.as_json else self._rich().width

    def line(self, text: str = "", style: str | None = None) -> None:
        """One line of plain text (brackets are not markup)."""
        if not self.as_json:
            self._rich().print(text, style=style, markup=False, soft_wrap=True)

    def good(self, text: str) -> None:
        """A line that says that all is well."""
        self.line(text, "bold green")

    def bad(self, text: str) -> None:
        """A line that says what was found."""
        self.line(text, "bold red")

    def table(self, title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """A table; a column whose name starts with `>` is set to the right."""
        if self.as_json:
            return
        console = self._rich()
        from rich.table import Table
        from rich.text import Text

        table = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold")
        for name in columns:
            right = name.startswith(">")
            table.add_column(name[right:], justify="right" if right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        console.print(table)

    def code(self, text: str, language: str = "python") -> None:
        """A few lines of source."""
        if not self.as_json:
            from rich.syntax import Syntax

            self._rich().print(Syntax(text, language, background_color="default"))

    @contextmanager
    def progress(self, what: str, total: float | None = None) -> Iterator[Any]:
        """A bar on a terminal's stderr; yields a function that takes how much more is done."""
        self_is_quiet = self.as_json or not sys.stderr.isatty()
        if self_is_quiet:
            yield lambda amount=1, text=None: None
            return
        self._rich()
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._errors, transient=True) as bars:
            task = bars.add_task(what, total=total)

            def advance(amount: float = 1, text: str | None = None) -> None:
                bars.update(task, advance=amount, description=text or what)

            yield advance

    def close(self) -> None:
        """Bring what was shown to the reader."""
        if not self.as_json and not sys.stdout.closed:  # a server's protocol closes it
            sys.stdout.flush()


def number(value: float | None) -> str:
    """A figure as tables show it."""
    if value is None:
        return "-"
    return f"{value:.3g}"
