"""`ms-adapter scan PATH ...`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_ERROR, EXIT_SAME, Tool
from ms_adapter.tools.screen import Screen
from ms_adapter.tools.whole import write_whole

if TYPE_CHECKING:
    from .findings import Findings

EXAMPLES = """\
  ms-adapter scan train.py
  ms-adapter scan src/ notebooks/ --html report.html
  ms-adapter scan . --sarif scan.sarif                 # for code hosts and editors
  ms-adapter scan . --json | jq '.names | keys'
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="+", help="files and folders (.py, .ipynb)")
    add("--all", action="store_true", help="list every use, not only what needs a look")
    add("--html", metavar="FILE", help="write a report of one self-contained page")
    add("--sarif", metavar="FILE", help="write SARIF 2.1.0")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from .findings import scan
    from .targets import MISSING

    with screen.progress("scanning"):
        found = scan(arguments.paths)
    screen.result.update(found.to_dict())
    if arguments.html:
        from .page import page

        write_whole(Path(arguments.html), page(found).encode())
    if arguments.sarif:
        from .sarif import sarif

        write_whole(Path(arguments.sarif), sarif(found).encode())
    _show(found, arguments.all, screen)
    if any(f.error for f in found.files):
        return EXIT_ERROR
    return EXIT_DIFFERS if found.by_word(MISSING) or any(f.unsure for f in found.files) else EXIT_SAME


def _show(found: Findings, everything: bool, screen: Screen) -> None:
    from .targets import WORKS, standing

    count = found.names()
    rows = [
        (name, times, s.cpu.word, s.cpu.note, s.counterpart or "-", ", ".join(s.flags))
        for name, times in count.most_common()
        if everything or (s := standing(name)).cpu.word != WORKS or s.flags
        if (s := standing(name))
    ]
    if rows:
        screen.table("Names", ("name", ">uses", "built-in cpu", "", "MindSpore", "flags"), rows)
    places = [
        (
            f"{f.path}:{f.place(u.line)}",
            u.name,
            u.kind if not u.why else "unsure",
            u.why or standing(u.name).cpu.note,
        )
        for f in found.files
        for u in f.uses
        if everything or u.why or standing(u.name).cpu.word != WORKS
    ]
    if places:
        screen.table("Places", ("place", "name", "use", "why"), places)
    for f in found.files:
        if f.error:
            screen.bad(f"{f.path}: {f.error}")
    total = sum(count.values())
    screen.line(f"{len(found.files)} files, {found.lines} lines, {len(count)} names in {total} places.")
    screen.line(found.effort()[0].upper() + found.effort()[1:] + ".")


TOOL = Tool("scan", "list every use of PyTorch's API, and what becomes of it", EXAMPLES, _add_arguments, _run)
