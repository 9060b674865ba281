"""`ms-adapter convert PATH -o OUT | --diff | --in-place`."""

from __future__ import annotations

import argparse
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_ERROR, EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen

if TYPE_CHECKING:
    from .project import Outcome

EXAMPLES = """\
  ms-adapter convert train.py --diff
  ms-adapter convert project/ -o converted/
  ms-adapter convert project/ --in-place
  ms-adapter convert --to mindspore net.py --diff      # MindSpore's own names where they do the same
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a file or folder (.py, .ipynb)")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("-o", "--output", metavar="OUT", help="write a converted copy here, other files too")
    where.add_argument("--diff", action="store_true", help="only show what would change")
    where.add_argument("--in-place", action="store_true", help="change the files themselves")
    to = "whose names are written: ms_adapter's, or MindSpore's where `ms-adapter map` calls them identical"
    parser.add_argument("--to", choices=("ms_adapter", "mindspore"), default="ms_adapter", help=to)
    loud = "--to mindspore: also names that differ, where every difference raises an error"
    parser.add_argument("--loud", action="store_true", help=loud)


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    try:
        from .project import convert, write_copy, write_in_place
    except ImportError as error:
        if error.name != "libcst":
            raise
        raise ToolError("convert needs the package LibCST: pip install 'ms_adapter[tools]'") from None
    root = Path(arguments.path)
    if not root.exists():
        raise ToolError(f"{root} does not exist")
    with screen.progress("converting"):
        outcomes = convert(root, arguments.to, arguments.loud)
    if arguments.output:
        write_copy(root, Path(arguments.output), outcomes)
    elif arguments.in_place:
        write_in_place(outcomes)
    screen.result.update(files=[o.to_dict() for o in outcomes if o.changed or o.remarks or o.error])
    _show(outcomes, arguments.diff, screen)
    if any(o.error for o in outcomes):
        return EXIT_ERROR
    return EXIT_DIFFERS if any(o.remarks for o in outcomes) else EXIT_SAME


def _show(outcomes: list[Outcome], diff: bool, screen: Screen) -> None:
    if diff:
        for o in outcomes:
            if o.changed:
                screen.code(unified(o), "diff")
    rows = [(f"{o.path}:{r.line}", r.text) for o in outcomes for r in o.remarks]
    if rows:
        screen.table("To look at", ("place", "why"), rows)
    for o in outcomes:
        if o.error:
            screen.bad(f"{o.path}: {o.error}")
    changed = [o for o in outcomes if o.changed]
    places = sum(len(o.changed) for o in changed)
    screen.line(f"{len(outcomes)} files read, {len(changed)} of them changed in {places} places.")


def unified(o: Outcome) -> str:
    old, new = (d.decode("utf-8", "replace").splitlines(keepends=True) for d in (o.before, o.after))
    return "".join(difflib.unified_diff(old, new, str(o.path), str(o.path)))


TOOL = Tool("convert", "rewrite a program's imports from torch to ms_adapter", EXAMPLES, _add_arguments, _run)
