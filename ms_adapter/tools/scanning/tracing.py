"""`scan --trace`: a run of the program beside the scan, which tells what is really called, and with what."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ms_adapter.tools.frame import ToolError

from . import api, watch

STDERR = 2  # by number: sys.stderr need not be a file
_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


@dataclass
class Calls:
    """Of one name at one place: how often it was called, and with tensors of which dtypes and shapes."""

    count: int = 0
    signatures: dict[str, int] = field(default_factory=dict)  # `float32[8, 3], int64[8]` -> how often

    def add(self, signatures: dict[str, int]) -> None:
        for text, times in signatures.items():
            self.count += times
            self.signatures[text] = self.signatures.get(text, 0) + times

    def text(self, most: int = 3) -> str:
        """A few words: `4 calls: float32[8, 3]`."""
        shown = [s for s in sorted(self.signatures, key=self.signatures.__getitem__, reverse=True) if s]
        more = f" and {len(shown) - most} more" if len(shown) > most else ""
        given = f": {'; '.join(shown[:most])}{more}" if shown else ""
        return f"{self.count} call{'s' if self.count != 1 else ''}{given}"


Sites = dict[watch.Site, dict[str, Calls]]


@dataclass
class Trace:
    """What a run called: by file (resolved), by place, by name as the scan writes it."""

    command: list[str]
    exit_code: int
    engine: str
    files: dict[str, Sites]

    def of(self, path: str) -> Sites:
        return self.files.get(str(Path(path).resolve()), {})


def trace(files: Sequence[Path], command: list[str], reference_python: str | None) -> Trace:
    """Run the command on ms_adapter, or on PyTorch with another interpreter, and look at its calls."""
    if command and Path(command[0]).name.startswith("python"):
        command = command[1:]
    if not command:
        raise ToolError("--trace needs a script, or -m and a module, with its arguments")
    if command[0] != "-m" and not Path(command[0]).is_file():
        raise ToolError(f"--trace: {command[0]} is no script")
    engine = "pytorch" if reference_python else "ours"
    with tempfile.TemporaryDirectory() as folder:
        out, text = Path(folder, "calls.json"), Path(folder, "request.json")
        request = {"engine": engine, "command": command, "out": str(out), "package_root": str(_PACKAGE_ROOT)}
        text.write_text(json.dumps({**request, "files": [str(f.resolve()) for f in files]}))
        line = [reference_python or sys.executable, watch.__file__, str(text)]
        try:
            # What the script prints is not part of the report: it goes where errors go.
            code = subprocess.run(line, stdout=STDERR).returncode
        except OSError as error:
            raise ToolError(f"the interpreter {line[0]} cannot be started: {error}") from error
        if not out.exists():
            raise ToolError(f"the run of {command[0]} ended with code {code} before it began")
        return Trace(command, code, engine, by_name(json.loads(out.read_text())))


def by_name(recorded: dict[str, list]) -> dict[str, Sites]:
    found: dict[str, Sites] = {}
    for path, sites in recorded.items():
        for line, end, names in sites:
            place = found.setdefault(path, {}).setdefault((line, end), {})
            for name, signatures in names.items():
                place.setdefault(plain_name(name), Calls()).add(signatures)
    return found


def plain_name(name: str) -> str:
    """The record's name as the scan writes it."""
    space, _, last = name.rpartition(".")
    context = "torch.autograd.function.FunctionCtx"
    if space.startswith("torch.autograd.function.") and api.member(context, last):
        return f"{context}.{last}"  # each Function has a context class of its own
    cls = api.canonical(space)
    if api.is_class(cls) and not api.is_module(cls):
        return api.member(cls, last) or f"{cls}.{last}"
    return api.canonical(name)
