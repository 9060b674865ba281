"""`ms-adapter map`: what MindSpore calls a name of PyTorch's and how the two differ, or the other way."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen

from . import show, table

EXAMPLES = """\
  ms-adapter map torch.nn.Linear                     # one name, signatures side by side
  ms-adapter map 'torch.nn.functional.*pool*'        # a table
  ms-adapter map --to torch mindspore.mint.nn.Linear # from MindSpore's side
  ms-adapter map 'torch.*' --verdict missing
  ms-adapter map --json                              # the whole table"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", default="*", help="a name, or a pattern with * and ? (default: all)"
    )
    parser.add_argument(
        "--to",
        choices=("mindspore", "torch"),
        help="the side that answers; mindspore where the name does not begin with `mindspore`",
    )
    parser.add_argument("--verdict", choices=table.VERDICTS, help="only names with this verdict")
    parser.add_argument("--page", type=Path, metavar="FILE", help="write the whole table as Markdown")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    if arguments.page:
        from .page import page

        arguments.page.write_text(page())
        screen.line(f"{arguments.page} written")
        return EXIT_SAME
    screen.result |= {key: table.data()[key] for key in ("pytorch", "mindspore", "target", "date")}
    theirs = arguments.name.startswith("mindspore")
    if (arguments.to or ("torch" if theirs else "mindspore")) == "torch":
        return _from_mindspore(arguments, screen)
    if theirs:
        raise ToolError(f"{arguments.name} is MindSpore's own name: ask with --to torch")
    return _from_torch(arguments, screen)


def _from_torch(arguments: argparse.Namespace, screen: Screen) -> int:
    found = list(table.records(arguments.name))
    if not found:
        raise ToolError(_unknown(arguments.name, "torch"))
    found = [r for r in found if arguments.verdict in (None, r.verdict)]
    screen.result["names"] = [show.plain(r) for r in found]
    if len(found) == 1 and not _pattern(arguments.name):
        show.one(found[0], screen)
    else:
        show.many(found, screen)
    return _code(found)


def _from_mindspore(arguments: argparse.Namespace, screen: Screen) -> int:
    if arguments.name.startswith("torch"):
        raise ToolError(f"{arguments.name} is PyTorch's own name: ask with --to mindspore")
    found = table.reverse(arguments.name)
    if not found:
        raise ToolError(_unknown(arguments.name, "mindspore"))
    rows: list[tuple[str, table.Record, table.Counterpart]] = []
    for name, pairs in found:
        rows += [(name, r, c) for r, c in pairs if arguments.verdict in (None, c.verdict)]
    screen.result["names"] = [_reversed(name, r, c) for name, r, c in rows]
    if len(found) == 1 and not _pattern(arguments.name):
        show.from_mindspore(found[0][0], rows, screen)
    else:
        show.many_from_mindspore(rows, screen)
    return EXIT_SAME if all(c.verdict == table.IDENTICAL for _, _, c in rows) else EXIT_DIFFERS


def _reversed(name: str, record: table.Record, counterpart: table.Counterpart) -> dict[str, Any]:
    return {"name": name, "torch": record.name, **show.plain_counterpart(counterpart)}


def _pattern(name: str) -> bool:
    return any(c in name for c in "*?[")


def _code(found: list[table.Record]) -> int:
    return EXIT_SAME if all(r.verdict == table.IDENTICAL for r in found) else EXIT_DIFFERS


def _unknown(name: str, root: str) -> str:
    owner = "PyTorch" if root == "torch" else "MindSpore"
    if _pattern(name):
        return f"no name of {owner}'s fits {name!r}"
    close = table.near(name, root)
    hint = f"; near it: {', '.join(close)}" if close else ""
    return f"the table has no name {table.full(name, root)!r} of {owner}'s{hint}"


TOOL = Tool(
    "map", "what MindSpore calls a name of PyTorch's, and where they differ", EXAMPLES, _add_arguments, _run
)
