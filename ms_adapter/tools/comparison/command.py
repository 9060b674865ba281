"""`ms-adapter compare A B`."""

from __future__ import annotations

import argparse
from itertools import compress
from typing import TYPE_CHECKING

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_ERROR, EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen, number

if TYPE_CHECKING:
    from .report import Report, Row

EXAMPLES = """\
  ms-adapter compare reference.npy ours.npy
  ms-adapter compare model.safetensors model.ckpt            # PyTorch's and MindSpore's names match
  ms-adapter compare dumps/pytorch dumps/ours --top 20
  ms-adapter compare old.pt new.pt --rename '^encoder\\.=>backbone.' --rtol 1e-4 --json"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("a", metavar="A", help="the reference: a file (npy npz pt safetensors ckpt ...) or a folder")
    add("b", metavar="B", help="what is compared with it")
    add("--rtol", type=float, help="near is |b-a| <= atol + rtol*|a|; default: by the coarser dtype")
    add("--atol", type=float, help="see --rtol")
    add("--equal-nan", action="store_true", help="NaN is near NaN")
    add("--rename", metavar="PATTERN=>TEXT", action="append", default=[], help="rule for the names of A")
    add("--names-only", action="store_true", help="do not match by shape what has no partner of its name")
    add("--top", type=int, default=40, metavar="N", help="rows to show, worst first (default 40; 0: all)")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from ms_adapter.tools.formats import read_path
    from ms_adapter.tools.formats.entry import BadFile

    from . import report as kinds
    from .api import compare_pairs
    from .naming import match, parse_rule

    try:
        rules = [parse_rule(text) for text in arguments.rename]
        with screen.progress("reading headers") as step:
            a, b = (read_path(path, step) for path in (arguments.a, arguments.b))
    except (BadFile, ValueError) as error:
        raise ToolError(str(error)) from error
    pairs = match(a, b, rules, by_shape=not arguments.names_only)
    total = sum(entry.bytes for entry in a)
    with screen.progress("comparing", total=total) as step:
        report = compare_pairs(pairs, arguments.rtol, arguments.atol, arguments.equal_nan, step)
    screen.result.update(report.to_dict())
    _show(report, arguments.top, screen)
    if report.count(kinds.ERROR):
        return EXIT_ERROR
    return EXIT_SAME if report.same else EXIT_DIFFERS


_WIDE = 160  # characters, which all columns need
_COLUMNS = ("tensor", "status", "shape", "dtype", ">max abs", ">mean abs", ">max rel", ">mean rel", ">cosine",
            ">max ulp", ">near", "worst at", ">in A", ">in B", ">NaN", ">Inf")  # fmt: skip


def _cells(row: Row) -> tuple:
    name = row.name if row.name in (row.name_b, "") or not row.name_b else f"{row.name} = {row.name_b}"
    if row.matched_by == "shape":
        name += " (by shape)"
    dtype = row.dtype_a if row.dtype_a == row.dtype_b or not row.dtype_b else f"{row.dtype_a} / {row.dtype_b}"
    shape = row.shape_a if row.shape_a is not None else row.shape_b
    if row.max_abs is None:
        return (name or "(tensor)", row.status, _dims(shape), dtype or row.dtype_b, *[""] * 12)
    worst = "" if row.worst_index is None else _dims(row.worst_index)
    return (
        name or "(tensor)", row.status, _dims(shape), dtype, number(row.max_abs), number(row.mean_abs),
        number(row.max_rel), number(row.mean_rel), f"{row.cosine:.7f}",
        "-" if row.max_ulp is None else row.max_ulp, f"{row.near_share:.4%}", worst, number(row.worst_a),
        number(row.worst_b), f"{row.nan_a}/{row.nan_b}", f"{row.inf_a}/{row.inf_b}",
    )  # fmt: skip


def _dims(shape: tuple[int, ...] | None) -> str:
    return "" if shape is None else "(" + ", ".join(map(str, shape)) + ")"


def _telling(report: Report, width: int) -> list[bool]:
    """Which columns are shown: not those that say nothing, nor in a narrow terminal what --json has too."""
    apart = any(row.worst_index is not None for row in report.rows)
    hidden = set() if apart else {"worst at", ">in A", ">in B"}
    if not any(row.nan_a or row.nan_b for row in report.rows):
        hidden.add(">NaN")
    if not any(row.inf_a or row.inf_b for row in report.rows):
        hidden.add(">Inf")
    if width < _WIDE:
        hidden |= {">mean abs", ">mean rel", ">cosine"}
    return [name not in hidden for name in _COLUMNS]


def _show(report: Report, top: int, screen: Screen) -> None:
    rows = report.rows[:top] if top else report.rows
    shown = _telling(report, screen.width)
    columns = list(compress(_COLUMNS, shown))
    screen.table("", columns, (list(compress(_cells(row), shown)) for row in rows))
    if len(rows) < len(report.rows):
        screen.line(f"{len(report.rows) - len(rows)} more, none worse (--top 0 shows all)")
    for row in report.rows:
        if row.error:
            screen.bad(f"{row.name or '(tensor)'}: {row.error}")
    (screen.good if report.same else screen.bad)(report.summary())


TOOL = Tool("compare", "compare tensors, files and folders, worst first", EXAMPLES, _add_arguments, _run)
