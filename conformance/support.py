"""python -m conformance.support merge RUN.json ... | page: which of PyTorch's public names work.

`merge` keeps what a page needs of the runs' records in ms_adapter/tools/support.json, of runs with
`--device mindspore` in on_mindspore.json there; `page` writes docs/support.md from these, from the registry
and from ms_adapter/pytorch/absent.toml, which has the reasons for names that we lack.
"""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import on_mindspore

ROOT = Path(__file__).resolve().parent.parent
DATA, PAGE = ROOT / "ms_adapter" / "tools" / "support.json", ROOT / "docs" / "support.md"
SPACES = (
    *("", "nn.functional", "linalg", "fft", "special"),
    *("signal.windows", "masked", "sparse", "testing", "Tensor"),
)
GROUPS = {
    "float": ("float32", "float64"),
    "half": ("float16", "bfloat16"),
    "complex": ("complex64", "complex128"),
    "int": ("int64", "int32", "int16", "int8", "uint8"),
    "bool": ("bool",),
}
# How a phase is kept: its letter, a capital where something failed.
LETTERS = {
    "forward": "f",
    "strided": "s",
    "grad": "g",
    "method": "m",
    "inplace": "i",
    "out": "o",
    "alias": "a",
}
SHOWN = {"function": "fgo", "method": "m", "inplace": "i", "alias": "a"}  # what a name's role is tested by
MARKS = {"f": "F", "g": "B", "o": "O", "m": "F", "i": "I", "a": "F"}  # how the page calls it
Results = dict[str, dict[str, str]]  # item -> dtype -> letters


# --- data -----------------------------------------------------------------------------------------
def letters(record: dict[str, Any]) -> str:
    """A record in letters; '!' for a crash, '-' where the operator is missing, '' where nothing applies."""
    if record["skip"] or record["crash"] or not record["exists"]:
        return "" if record["skip"] else "!" if record["crash"] else "-"
    found = ""
    for phase, letter in LETTERS.items():
        counts = record["phases"].get(phase, {})
        if counts.get("fail"):
            found += letter.upper()
        elif counts.get("pass"):
            found += letter
    return found + ("!" if "harness" in record["phases"] else "")


def merge(runs: list[Path]) -> None:
    """Puts the runs' records of operators into ms_adapter/tools/support.json, newer over older."""
    data = json.loads(DATA.read_text()) if DATA.exists() else {"samples": 0, "items": {}}
    for run in runs:
        content = json.loads(run.read_text())
        if content["options"].get("device"):
            on_mindspore.merge(content)
            continue
        data["samples"] = content["options"]["max_samples"]
        for record in content["items"]:
            if record["suite"] != "ops":
                continue
            item, _, dtype = record["name"].rpartition("@")
            if found := letters(record):
                data["items"].setdefault(item, {})[dtype] = found
    lines = [
        f"  {json.dumps(item)}: {json.dumps(data['items'][item], sort_keys=True)}"
        for item in sorted(data["items"])
    ]
    head = f'{{"samples": {data["samples"]},\n"items": {{\n'
    DATA.write_text(head + ",\n".join(lines) + "\n}}\n")


# --- names ----------------------------------------------------------------------------------------
@functools.cache
def _at_start() -> frozenset[str]:
    """PyTorch's names right after its import: other parts of it appear as they are imported."""
    import torch

    site = str(Path(torch.__file__).parents[1])  # MindSpore's environment finds PyTorch elsewhere
    command = [sys.executable, "-c", f"import sys; sys.path += [{site!r}]; import torch; print(*dir(torch))"]
    return frozenset(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def _foreign(name: str, value: Any, space: str) -> bool:
    """Whether a module only shows a name because its source imports it."""
    if isinstance(value, types.ModuleType):
        if not space and name not in _at_start():
            return True
        return value.__name__ != ".".join(filter(None, ("torch", space, name)))
    home = getattr(value, "__module__", None)
    if isinstance(home, str) and home.partition(".")[0] in {
        "typing",
        "typing_extensions",
        "collections",
        "functools",
    }:
        return True
    import torch

    return bool(space) and isinstance(value, type) and value is getattr(torch, name, None)


def public_names(space: str) -> list[str]:
    """A namespace's public names: those without an underscore in front, and the methods of operators."""
    import torch

    from .face import dotted

    root = dotted(torch, space)
    names = []
    for name in dir(root):
        dunder = name.startswith("__") and name.endswith("__")
        if name.startswith("_") and not (space == "Tensor" and dunder and name not in dir(object)):
            continue
        if name in ("__annotations__", "__dict__", "__weakref__", "__module__", "TYPE_CHECKING"):
            continue
        if name == "__slotnames__":  # left by copyreg in classes that were pickled
            continue
        if not _foreign(name, getattr(root, name, None), space):
            names.append(name)
    return sorted(names)


def present(space: str, name: str) -> bool:
    """Whether ms_adapter has the name."""
    import ms_adapter.pytorch

    from .face import dotted

    root = dotted(ms_adapter.pytorch, space)
    return root is not None and name in dir(root) or dotted(root, name) is not None


def faults() -> Iterator[str]:
    """What is wrong between PyTorch's names, ours and absent.toml, one line each."""
    from ms_adapter.pytorch._missing import entry, reasons

    used = set()
    for space in SPACES:
        for name in public_names(space):
            path = ".".join(filter(None, ("torch", space, name)))
            absent, refused = entry(path), entry(path, present=True)
            if present(space, name):
                used.add(refused)
                if absent == path:
                    yield f"{path} is there, but absent.toml lists it"
            elif absent is None:
                yield f"{path} is neither there nor in absent.toml"
            else:
                used.add(absent)
    listed = [*reasons(), *reasons(present=True)]
    yield from (f"absent.toml: '{name}' fits no name" for name in listed if name not in used)


# --- page -----------------------------------------------------------------------------------------
@functools.cache
def _roles() -> dict[str, list[tuple[str, str]]]:
    """Dotted public name -> the items of PyTorch's table that test it, each with the name's role there."""
    from .face import locate
    from .ops import full_name, op_db

    found: dict[str, list[tuple[str, str]]] = {}
    for op in op_db:
        variants = [(op.op, "function"), (op.method_variant, "method"), (op.inplace_variant, "inplace")]
        for alias in op.aliases:
            variants += [(v, "alias") for v in (alias.op, alias.method_variant, alias.inplace_variant)]
        paths = {(locate(variant), role) for variant, role in variants if variant is not None}
        paths.add((op.name.removeprefix("torch."), "function"))
        paths.add((f"Tensor.{op.name}", "method") if op.method_variant else (None, ""))
        for variant, role in ((op.operator_variant, "method"), (op.inplace_operator_variant, "inplace")):
            paths.add((f"Tensor.__{variant.__name__.strip('_')}__" if variant else None, role))
        for path, role in paths:
            if path:
                found.setdefault(path, []).append((full_name(op), role))
    return found


def tests_of(path: str) -> list[tuple[str, str]]:
    """The items that test a name: its own, or those of another name for the same row in the same form."""
    own, row = _roles().get(path), _rows().get(path)
    if own or row is None:
        return own or []
    inplace = path.endswith("_")
    same = [name for name, other in _rows().items() if other is row and name.endswith("_") == inplace]
    return next((_roles()[name] for name in same if name in _roles()), [])


def cell(results: Results, tests: list[tuple[str, str]], group: str) -> str:
    """A name's marks in one dtype group: plain where all passed, struck out where something failed."""
    good, bad = set(), set()
    for item, role in tests:
        for dtype in GROUPS[group]:
            got = results.get(item, {}).get(dtype)
            if got is None:
                continue
            if got in ("-", "!"):
                bad.add("F")
            for letter in SHOWN[role]:
                good |= {MARKS[letter]} if letter in got else set()
                bad |= {MARKS[letter]} if letter.upper() in got else set()
            if role == "function" and "S" in got:
                bad.add("F")
    marks = [f"~~{mark}~~" if mark in bad else mark for mark in "FBIO" if mark in good | bad]
    return " ".join(marks) or " "


@functools.cache
def _all_rows() -> dict[str, list[Any]]:
    """Dotted name -> its rows in the registry."""
    from opgen.emit_tables import public_names as row_names
    from opgen.load import load

    functions, methods = row_names(load(ROOT / "ops"))
    made = {name: [row for row, _ in rows] for name, rows in functions.items()}
    return made | {f"Tensor.{name}": [row for row, _ in rows] for name, rows in methods.items()}


@functools.cache
def _rows() -> dict[str, Any]:
    """Dotted name -> its first row in the registry."""
    return {name: rows[0] for name, rows in _all_rows().items()}


def rows_of(path: str) -> list[Any]:
    """The rows of a dotted name; none for what is made in Python."""
    return _all_rows().get(path, [])


class Section:
    """A namespace's part of the page."""

    def __init__(self, space: str, results: Results, device: dict[str, Any]) -> None:
        from ms_adapter.pytorch._missing import entry, reasons

        self.title = ".".join(filter(None, ("torch", space)))
        self.rows: list[str] = []
        self.clean = 0
        self.untested: list[str] = []
        self.lacking: dict[str, list[str]] = {}
        self.refused: dict[str, list[str]] = {}
        for name in public_names(space):
            path = f"{space}.{name}".lstrip(".")
            if not present(space, name):
                reason = reasons().get(entry(f"torch.{path}") or "", "no reason given")
                self.lacking.setdefault(reason, []).append(name)
            elif key := entry(f"torch.{path}", present=True):
                self.refused.setdefault(reasons(present=True)[key], []).append(name)
            else:
                made = _rows()[path].kind if path in _rows() else "Python"
                cells = [cell(results, tests_of(path), group) for group in GROUPS]
                self.add(name, made, cells, on_mindspore.cell(path, device))

    def add(self, name: str, made: str, cells: list[str], device: str) -> None:
        if not "".join(cells).strip():
            self.untested.append(name)
            return
        self.clean += "~" not in "".join(cells)
        self.rows.append(f"| {name} | {made} | {' | '.join(cells)} | {device} |")

    def summary(self) -> str:
        lists = [sum(map(len, group.values())) for group in (self.refused, self.lacking)]
        counts = [len(self.rows) + len(self.untested) + sum(lists), self.clean, len(self.rows) - self.clean]
        return f"| {self.title} | {' | '.join(map(str, [*counts, len(self.untested), *lists]))} |"

    def lines(self) -> list[str]:
        lines = [f"## {self.title}", ""]
        if self.rows:
            lines += [
                f"| name | made as | {' | '.join(GROUPS)} | MindSpore |",
                "|" + " --- |" * (3 + len(GROUPS)),
                *self.rows,
                "",
            ]
        if self.untested:
            lines += [f"Present, without an entry in PyTorch's table: {', '.join(self.untested)}.", ""]
        for head, group in (("Present, but refuses", self.refused), ("Absent", self.lacking)):
            if group:
                lines += [f"{head}:", ""]
                lines += [f"- {reason}: {', '.join(names)}." for reason, names in sorted(group.items())] + [
                    ""
                ]
        return lines


HEAD = """# What is supported

Every public name of PyTorch 2.13 in the namespaces of its operators, against ms_adapter. `make support` makes
this page from the registry, from the last conformance runs (`ms_adapter/tools/support.json`) and from the
reasons in `ms_adapter/pytorch/absent.toml`. A mark is plain only because a test passed.

Measured with `python -m conformance ops --max-samples {samples}` over PyTorch's own operator table (OpInfo),
for {dtypes}. A mark stands for the dtypes of its group that the table has for the name and that were
measured: **F** forward (contiguous and strided inputs), **B** backward (the gradients are PyTorch's),
**I** in-place, **O** `out=`. ~~Struck out~~: something differs. An empty cell: the table has no such test.
*Made as*: the kind of the registry's row, or Python.

*MindSpore*: how the name ran on the device `mindspore` ([mindspore.md](mindspore.md)), MindSpore {mindspore},
{target} target, {date} at {commit}, each operator in one dtype, forward and backward, in-place and `out=`:

{meaning}

{summary} Ascend is unmeasured. `ms_adapter/tools/on_mindspore.json` has it entry by entry.

| namespace | names | all marks plain | some struck out | not in the table | refuse | absent |
"""


def page() -> str:
    """docs/support.md."""
    data = json.loads(DATA.read_text())
    device = json.loads(on_mindspore.DATA.read_text())
    sections = [Section(space, data["items"], device) for space in SPACES]
    dtypes = sorted({dtype for got in data["items"].values() for dtype in got})
    head = HEAD.format(
        samples=data["samples"],
        dtypes=", ".join(dtypes),
        meaning="\n".join(f"- **{word}**: {meaning};" for word, meaning in on_mindspore.WORDS.items()),
        summary=on_mindspore.summary(device),
        **{key: device[key] for key in ("mindspore", "target", "date", "commit")},
    )
    lines = ["|" + " --- |" * 7, *(section.summary() for section in sections), ""]
    return head + "\n".join(lines + [line for section in sections for line in section.lines()])


def main() -> int:
    parser = argparse.ArgumentParser(prog="conformance.support", description=__doc__)
    parser.add_argument("what", choices=["merge", "page"])
    parser.add_argument("runs", nargs="*", type=Path, help="merge: files of `conformance ops --json`")
    options = parser.parse_args()
    if options.what == "merge":
        merge(options.runs)
        return 0
    if wrong := list(faults()):
        print(*wrong, sep="\n", file=sys.stderr)
        return 1
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
