"""Notebooks' cells as Python: IPython lines (magics, shell, questions) give way to plain words."""

from __future__ import annotations

import json
import re
from typing import Any

_COMMAND = re.compile(r"(\s*)[%!?]")
_ASSIGNED = re.compile(r"(\s*[\w.\[\]'\", ]+=)\s*[%!](?!=)")
_QUESTION = re.compile(r"(\s*)[\w.\[\]*%]+\?\??\s*$")
_CALL = re.compile(r"(\s*)[/,;]\s*[A-Za-z_][\w.]*(\s|$)")  # "/print 3"


def source_of(cell: dict[str, Any]) -> str:
    """The text of a code cell; none of other cells."""
    given = cell.get("source", "") if cell.get("cell_type") == "code" else ""
    return "".join(given) if isinstance(given, list) else given


def cells_of(data: bytes) -> list[dict[str, Any]]:
    """The cells of a notebook."""
    book = json.loads(data)
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise ValueError("it has no cells, as notebooks of version 4 do")
    return cells


def is_other_language(text: str) -> bool:
    """Whether a cell's magic makes all of it something else than Python."""
    return bool(text.lstrip().startswith("%%") and not re.match(r"\s*%%(time|timeit|capture|prun)\b", text))


def python_lines(text: str) -> list[str]:
    """The cell's lines; those that are IPython's are others, in their places."""
    lines: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        found = _replacement(line)
        if goes_on:  # a command is continued
            found = ""
        lines.append(line if found is None else found)
        goes_on = found is not None and line.endswith("\\")
    return lines


def _replacement(line: str) -> str | None:
    for pattern in (_COMMAND, _QUESTION, _CALL):
        if m := pattern.match(line):
            return m[1] + "pass"
    return m[1] + " None" if (m := _ASSIGNED.match(line)) else None


def notebook(data: bytes) -> tuple[str, list[tuple[int, int]]]:
    """A notebook's code cells as one program, and (number of the cell, line in it) for each of its lines."""
    lines: list[str] = []
    places: list[tuple[int, int]] = []
    for number, cell in enumerate(cells_of(data), 1):
        text = source_of(cell)
        if not text or is_other_language(text):
            continue
        found = python_lines(text)
        indent = found[0][: len(found[0]) - len(found[0].lstrip())]  # IPython takes off the first line's
        lines += [line.removeprefix(indent) for line in found]
        places += [(number, k) for k in range(1, len(found) + 1)]
    return "\n".join(lines) + "\n", places
