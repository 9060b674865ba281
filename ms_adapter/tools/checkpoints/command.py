"""`ms-adapter ckpt show A` and `ms-adapter ckpt convert A B`."""

from __future__ import annotations

import argparse
import re

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen

EXAMPLES = """\
  ms-adapter ckpt show resnet.ckpt
  ms-adapter ckpt convert resnet.pth resnet.ckpt
  ms-adapter ckpt convert resnet.ckpt resnet.safetensors --like reference.pth
  ms-adapter ckpt convert training.pt model.ckpt --key model --rename '^module\\.=>'
  ms-adapter ckpt convert net.ckpt net.pth --conv1d 'encoder.*' --dry-run
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", required=True, metavar="{show,convert}")
    show = actions.add_parser("show", help="names, dtypes, shapes and the state of a file")
    show.add_argument("path", metavar="A", help=".pth, .pt, .bin, .safetensors or .ckpt")
    convert = actions.add_parser("convert", help="write a file's tensors as a file of another kind")
    convert.add_argument("path", metavar="A", help=".pth, .pt, .bin, .safetensors or .ckpt")
    convert.add_argument("output", metavar="B", help="the file to write, its kind by its name")
    convert.add_argument("--like", metavar="FILE", help="a file of the same net in the kind of B: names and "
                         "shapes are taken from it where the rules leave a choice")  # fmt: skip
    convert.add_argument("--key", metavar="KEY", help="only what lies under this key of A, as `model`")
    convert.add_argument("--embedding", metavar="PATTERN", action="append", default=[],
                         help="modules that are embeddings, as 'token_*' (to MindSpore)")  # fmt: skip
    convert.add_argument("--conv1d", metavar="PATTERN", action="append", default=[],
                         help="modules that are 1-d convolutions (from MindSpore)")  # fmt: skip
    convert.add_argument("--mint", action="store_true",
                         help="MindSpore's side is of mindspore.mint, named as PyTorch")  # fmt: skip
    convert.add_argument("--rename", metavar="PATTERN=>TEXT", action="append", default=[],
                         help="a regular expression and what replaces it, after the rules")  # fmt: skip
    convert.add_argument("--dry-run", action="store_true", help="only show what would be written")
    for action in (show, convert):
        action.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="one JSON object")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    return (_show if arguments.action == "show" else _convert)(arguments, screen)


def _show(arguments: argparse.Namespace, screen: Screen) -> int:
    from . import files

    kind, entries, others = files.read(arguments.path)
    checksum = files.checksum_state(arguments.path) if kind == "mindspore" else "none"
    total = sum(entry.bytes for entry in entries)
    rows = [{"name": e.name, "dtype": e.dtype, "shape": list(e.shape), "bytes": e.bytes,
             "pieces": len(e.pieces) or 1, "error": e.error} for e in entries]  # fmt: skip
    screen.result.update(path=arguments.path, kind=kind, checksum=checksum, tensors=rows, others=others)
    screen.table(f"{arguments.path}: {kind}", ("name", "dtype", "shape", ">bytes"),
                 ((e.name, e.error or e.dtype, e.shape, f"{e.bytes:,}") for e in entries))  # fmt: skip
    screen.line(f"{len(entries)} tensors, {total:,} bytes; checksum: {checksum}.")
    if others:
        screen.line(f"No tensors: {_some(others)}.")
    bad = checksum == "wrong" or any(entry.error for entry in entries)
    return EXIT_DIFFERS if bad else EXIT_SAME


def _convert(arguments: argparse.Namespace, screen: Screen) -> int:
    from . import files, names

    kind, entries, others = files.read(arguments.path)
    if kind == "mindspore" and files.checksum_state(arguments.path) == "wrong":
        raise ToolError(f"{arguments.path}: its checksum does not fit its content; the file is damaged.")
    target = files.kind_of(arguments.output)
    entries, others = _under(arguments.key, entries), _names_under(arguments.key, others)
    unreadable = [f"{entry.name}: {entry.error}" for entry in entries if entry.error]
    if unreadable:
        raise ToolError(f"{arguments.path} cannot be converted: {_some(unreadable)}")
    like = files.read(arguments.like)[1] if arguments.like else None
    options = names.Options(
        arguments.embedding, arguments.conv1d, [_renaming(r) for r in arguments.rename], arguments.mint, like
    )
    moves = names.plan(entries, _direction(kind, target), options)
    problems = names.missing(moves, like) if like is not None else []
    problems += [f"{name}: no tensor, left out" for name in others]
    if not arguments.dry_run:
        with screen.progress("writing"):
            _write(arguments.output, target, moves)
    _report(moves, problems, arguments, screen)
    return EXIT_DIFFERS if problems else EXIT_SAME


def _write(path: str, kind: str, moves: list) -> None:
    from ms_adapter.tools.formats.entry import BadFile
    from ms_adapter.tools.formats.write import write_file

    try:
        write_file(path, kind, [move.made() for move in moves if move.new is not None])
    except BadFile as error:
        raise ToolError(str(error)) from error


def _direction(kind: str, target: str) -> str:
    if (kind == "mindspore") == (target == "mindspore"):
        return "same"
    return "mindspore" if target == "mindspore" else "torch"


def _names_under(key: str | None, names: list[str]) -> list[str]:
    return [name.removeprefix(f"{key}.") for name in names if not key or name.startswith(f"{key}.")]


def _under(key: str | None, entries: list) -> list:
    """The tensors under a key of the file, by their names there."""
    if not key:
        return entries
    found = [entry for entry in entries if entry.name.startswith(f"{key}.")]
    if not found:
        keys = sorted({entry.name.partition(".")[0] for entry in entries})
        raise ToolError(f"--key {key}: no tensor lies under it; the file's keys are {_some(keys)}.")
    for entry in found:
        entry.name = entry.name.removeprefix(f"{key}.")
    return found


def _renaming(text: str) -> tuple[re.Pattern[str], str]:
    pattern, arrow, replacement = text.partition("=>")
    if not arrow or not pattern:
        raise ToolError(f"--rename {text!r}: say PATTERN=>TEXT, as '^module\\.=>'.")
    try:
        compiled = re.compile(pattern)
        # An alternative that always matches makes the replacement's groups be looked at now.
        re.sub(f"(?:{pattern})|", replacement, "")
    except (re.error, IndexError) as error:
        raise ToolError(f"--rename {text!r}: {error}.") from error
    return compiled, replacement


def _some(texts: list[str], most: int = 8) -> str:
    more = f" and {len(texts) - most} more" if len(texts) > most else ""
    return ", ".join(texts[:most]) + more


def _report(moves: list, problems: list[str], arguments: argparse.Namespace, screen: Screen) -> None:
    written = None if arguments.dry_run else arguments.output
    screen.result.update(path=arguments.path, output=written, tensors=[m.to_dict() for m in moves],
                         problems=problems)  # fmt: skip
    rows = ((m.old or "-", m.new or "-", _shapes(m), m.rule) for m in moves)
    screen.table(f"{arguments.path} -> {arguments.output}", ("from", "to", "shape", "rule"), rows)
    if problems:
        screen.table("To look at", ("what",), ([problem] for problem in problems))
    kept = sum(m.new is not None for m in moves)
    changed = sum(m.new is not None and m.old is not None and m.new != m.old for m in moves)
    verb = "would be written" if arguments.dry_run else "written"
    screen.line(f"{kept} tensors {verb}, {changed} under another name, {len(moves) - kept} left out.")


def _shapes(move: object) -> str:
    source, shape = move.source, move.shape  # type: ignore[attr-defined]
    return str(shape) if source is None or source.shape == shape else f"{source.shape} -> {shape}"


TOOL = Tool("ckpt", "show checkpoints, and convert PyTorch's and MindSpore's into each other", EXAMPLES,
            _add_arguments, _run)  # fmt: skip
