"""Converts the files of a project: modules and notebooks; the rest is copied as it is."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import libcst

from ms_adapter.tools.scanning.findings import scan
from ms_adapter.tools.scanning.source import files, read
from ms_adapter.tools.scanning.targets import MISSING, standing
from ms_adapter.tools.whole import write_whole

from ..scanning.cells import cells_of, is_other_language, python_lines, source_of
from .native import cell_names, native
from .rewrite import Remark, Rewritten, rewrite


@dataclass(frozen=True)
class Outcome:
    """One file before and after."""

    path: Path
    before: bytes
    after: bytes
    changed: tuple[int, ...] = ()
    remarks: tuple[Remark, ...] = ()
    error: str = ""

    def to_dict(self) -> dict[str, Any]:
        remarks = [{"line": r.line, "why": r.text} for r in self.remarks]
        return {
            "path": str(self.path),
            "changed_lines": self.changed,
            "remarks": remarks,
            "error": self.error or None,
        }


def convert(root: Path, to: str = "ms_adapter", loud: bool = False) -> list[Outcome]:
    """All files below the root, none of them written."""
    known = {f.path: f.uses for f in scan([str(root)]).files}
    paths = files([root])
    uses = {path: known.get(str(path), []) for path in paths}
    if to == "ms_adapter":
        return [convert_file(path, uses[path], rewrite) for path in paths]
    trees = ((tree, uses[path]) for path in paths if (tree := read(path).tree) is not None)
    cells = cell_names(trees)
    written = functools.partial(native, cells=cells, loud=loud)
    return [convert_file(path, uses[path], functools.partial(written, uses=uses[path])) for path in paths]


def convert_file(path: Path, uses: list[Any], rewritten: Callable[[bytes], Rewritten]) -> Outcome:
    data = b""
    try:
        data = path.read_bytes()
        if path.suffix == ".ipynb":
            return convert_notebook(path, data)
        new = rewritten(data)
    except (OSError, ValueError, libcst.ParserSyntaxError, RecursionError) as error:
        text = f"left as it is: {getattr(error, 'message', error)}"
        return Outcome(path, data, data, error=text.partition("\n")[0])
    missing = [Remark(u.line, missing_text(u)) for u in uses if is_missing(u)]
    remarks = sorted({*new.remarks, *missing}, key=lambda r: (r.line, r.text))
    return Outcome(path, data, new.data, new.changed, tuple(remarks))


def missing_text(use: Any) -> str:
    s = standing(use.name)
    return f"{use.name}: {s.cpu.note}. What to do: {s.strategy}"


def is_missing(use: Any) -> bool:
    return not use.why and standing(use.name).cpu.word == MISSING


def convert_notebook(path: Path, data: bytes) -> Outcome:
    """A notebook's code cells, each by itself; what is no Python in them stays."""
    book = json.loads(data)
    cells_of(data)
    changed: list[int] = []
    remarks: list[Remark] = []
    for number, cell in enumerate(book["cells"], 1):
        text = source_of(cell)
        if "torch" not in text or is_other_language(text):
            continue
        try:
            after, found = _convert_cell(text)
        except libcst.ParserSyntaxError:
            remarks.append(Remark(number, f"cell {number} is no Python: its imports are left as they are"))
            continue
        remarks += [Remark(number, f"cell {number}: {r.text}") for r in found]
        if after != text:
            changed.append(number)
            cell["source"] = after.splitlines(keepends=True) if isinstance(cell["source"], list) else after
    if not changed:
        return Outcome(path, data, data, (), tuple(remarks))
    indent = 1 if b'\n "' in data else None
    ascii_only = data.isascii()
    written = json.dumps(book, indent=indent, ensure_ascii=ascii_only) + (
        "\n" if data.endswith(b"\n") else ""
    )
    return Outcome(path, data, written.encode(), tuple(changed), tuple(remarks))


def _convert_cell(text: str) -> tuple[str, list[Remark]]:
    """The cell with its imports rewritten: IPython's lines are away meanwhile, behind a word of their own."""
    lines, kept = text.split("\n"), {}
    for i, line in enumerate(python_lines(text)):
        if line != lines[i]:
            stands_for = f"{line}  # line {i} of IPython's"
            kept[stands_for], lines[i] = lines[i], stands_for
    new = rewrite("\n".join(lines).encode())
    after = "\n".join(kept.get(line, line) for line in new.data.decode().split("\n"))
    return after, list(new.remarks)


def write_in_place(outcomes: list[Outcome]) -> None:
    for o in outcomes:
        if o.after != o.before:
            write_whole(o.path, o.after)


def write_copy(root: Path, out: Path, outcomes: list[Outcome]) -> None:
    """The project at `out`, with every file that it has; the old one is not touched."""
    if root.is_file():
        target = out / root.name if out.is_dir() else out
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, outcomes[0].after)
        return
    if out.resolve().is_relative_to(root.resolve()):
        raise FileExistsError(f"convert: {out} lies in {root}: it would be converted the next time")
    shutil.copytree(
        root, out, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(".git", "__pycache__")
    )
    for o in outcomes:
        if o.after != o.before:
            write_whole(out / o.path.relative_to(root), o.after)
