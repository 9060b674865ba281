"""`ms-adapter scan PATH ...`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_ERROR, EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen
from ms_adapter.tools.whole import write_whole

if TYPE_CHECKING:
    from .findings import Findings

EXAMPLES = """\
  ms-adapter scan train.py
  ms-adapter scan src/ notebooks/ --html report.html
  ms-adapter scan . --sarif scan.sarif                 # for code hosts and editors
  ms-adapter scan . --json | jq '.names | keys'
  ms-adapter scan src/ --trace src/train.py --epochs 1 # run it, and tell what was called with which shapes
  ms-adapter scan src/ --reference-python ~/torch/bin/python --trace src/train.py
  ms-adapter scan --skeleton torch.choose_qparams_optimized -o own/    # a kernel to fill in
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", metavar="PATH", nargs="*", help="files and folders (.py, .ipynb)")
    add("--all", action="store_true", help="list every use, not only what needs a look")
    add("--html", metavar="FILE", help="write a report of one self-contained page")
    add("--sarif", metavar="FILE", help="write SARIF 2.1.0")
    add(
        "--issues", metavar="FOLDER", help="write the text of an issue for each name that has to be asked for"
    )
    add("--reference-python", metavar="PYTHON", help="--trace: the interpreter whose PyTorch runs the script")
    trace = "run SCRIPT ARGS (or -m MODULE ARGS), and add what it called; the last option"
    add("--trace", metavar="CMD", nargs=argparse.REMAINDER, help=trace)
    skeleton = parser.add_argument_group("an operator of one's own, in place of scanning")
    skeleton.add_argument("--skeleton", metavar="NAME", help="write a C++ kernel and its module for NAME")
    skeleton.add_argument("-o", "--output", metavar="FOLDER", help="where the skeleton goes")
    schema = "NAME's schema, as name(Tensor x, float a=1.0) -> Tensor, where the scan knows none"
    skeleton.add_argument("--schema", help=schema)


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    if arguments.skeleton:
        return _skeleton(arguments, screen)
    if not arguments.paths:
        raise ToolError("no PATH is given: a file or folder to scan")
    from .findings import scan
    from .targets import MISSING

    with screen.progress("scanning"):
        found = scan(arguments.paths)
    if arguments.trace is not None:
        from .tracing import trace

        files = [Path(f.path) for f in found.files if f.path.endswith(".py")]
        with screen.progress(f"running {' '.join(arguments.trace)}"):
            found.add_trace(trace(files, arguments.trace, arguments.reference_python))
    screen.result.update(found.to_dict())
    _write(arguments, found)
    _show(found, arguments.all, screen)
    if any(f.error for f in found.files):
        return EXIT_ERROR
    failed = found.trace is not None and found.trace.exit_code != 0
    unclear = failed or any(f.unsure for f in found.files)
    return EXIT_DIFFERS if unclear or found.by_word(MISSING) else EXIT_SAME


def _skeleton(arguments: argparse.Namespace, screen: Screen) -> int:
    from .skeleton import write_skeleton

    if not arguments.output:
        raise ToolError("--skeleton needs -o FOLDER")
    written = write_skeleton(arguments.skeleton, Path(arguments.output), arguments.schema)
    screen.result.update(written=[str(path) for path in written])
    for path in written:
        screen.line(f"wrote {path}")
    return EXIT_SAME


def _write(arguments: argparse.Namespace, found: Findings) -> None:
    if arguments.html:
        from .page import page

        write_whole(Path(arguments.html), page(found).encode())
    if arguments.sarif:
        from .sarif import sarif

        write_whole(Path(arguments.sarif), sarif(found).encode())
    if arguments.issues:
        folder = Path(arguments.issues)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in found.issues().items():
            write_whole(folder / f"{name}.md", text.encode())


def _show(found: Findings, everything: bool, screen: Screen) -> None:
    from .targets import WORKS, standing

    count = found.names()
    rows = [
        (name, times, s.cpu.word, s.mindspore.word, s.ascend.word, s.mapped or "-", s.remark())
        for name, times in count.most_common()
        if (s := standing(name)).cpu.word != WORKS or s.flags or everything
    ]
    if rows:
        targets = ("built-in cpu", "MindSpore CPU", "Ascend")
        screen.table("Names", ("name", ">uses", *targets, "MindSpore's name", "to look at"), rows)
    places = [
        (f"{f.path}:{f.place(u.line)}", u.name, u.kind if not u.why else "unsure", found.told(f, u))
        for f in found.files
        for u in f.uses
        if everything or u.why or standing(u.name).cpu.word != WORKS
    ]
    if places:
        screen.table("Places", ("place", "name", "use", "why"), places)
    _show_ways(found, screen)
    _show_trace(found, screen)
    for f in found.files:
        if f.error:
            screen.bad(f"{f.path}: {f.error}")
    total = sum(count.values())
    screen.line(f"{len(found.files)} files, {found.lines} lines, {len(count)} names in {total} places.")
    screen.line(found.effort()[0].upper() + found.effort()[1:] + ".")


def _show_ways(found: Findings, screen: Screen) -> None:
    """What to do about the names that are missing, and the functions that are to be taken over."""
    ways = found.strategies()
    if ways:
        rows = [(name, way.kind, str(way)) for name, way in ways.items()]
        screen.table("What to do", ("name", "way", "how"), rows)
    for code in dict.fromkeys(way.code for way in ways.values() if way.code):
        screen.code(code)


def _show_trace(found: Findings, screen: Screen) -> None:
    if found.trace is None:
        return
    rows = [(f.place_of(u.line), u.name, calls.text()) for f in found.files for u, calls in f.called()]
    title = f"Called by {' '.join(found.trace.command)} on {found.trace.engine}"
    screen.table(title, ("place", "name", "calls, dtypes and shapes"), rows)
    unfound = [(f.place_of(line), n, c.text()) for f in found.files for line, n, c in f.unfound()]
    if unfound:
        screen.table("Called, and not found by the scan", ("place", "name", "calls"), unfound)
    if found.trace.exit_code:
        screen.bad(f"the run ended with exit code {found.trace.exit_code}")


TOOL = Tool("scan", "list every use of PyTorch's API, and what becomes of it", EXAMPLES, _add_arguments, _run)
