"""What a scan found, gathered for its readers: by file, by name, and in sum."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .program import Program, Use
from .project import Project
from .source import Source, files, read
from .strategies import ASK, Strategy, issue
from .targets import MISSING, PARTLY, Standing, standing
from .tracing import Calls, Sites, Trace


@dataclass
class FileFindings:
    """One file: its uses in order, or why it was passed over."""

    path: str
    uses: list[Use] = field(default_factory=list)
    error: str = ""
    cells: list[tuple[int, int]] | None = None  # of a notebook: (cell, line in it) by line
    sites: Sites = field(default_factory=dict)  # what a run called, where there was one
    lines: list[str] = field(default_factory=list)

    def columns(self, use: Use, encoding: str = "utf-32-le") -> tuple[int, int]:
        """Where a use begins and ends in its line, in units of an encoding (Python counts bytes of UTF-8)."""
        line = self.lines[use.line - 1].encode() if use.line <= len(self.lines) else b""
        size = len("a".encode(encoding))
        ends = (line[:at].decode(errors="replace").encode(encoding) for at in (use.column, use.end_column))
        first, last = (len(end) // size for end in ends)
        return first, max(last, first + 1)

    @property
    def sure(self) -> list[Use]:
        return [u for u in self.uses if not u.why]

    @property
    def unsure(self) -> list[Use]:
        return [u for u in self.uses if u.why]

    def place(self, line: int) -> str:
        if self.cells and 0 < line <= len(self.cells):
            cell, inside = self.cells[line - 1]
            return f"cell {cell}, line {inside}"
        return str(line)

    def place_of(self, line: int) -> str:
        return f"{self.path}:{self.place(line)}"

    def calls(self, use: Use) -> Calls | None:
        """What the run called where the scan has a use of that name."""
        return self.sites.get((use.line, use.end_column), {}).get(use.name)

    def called(self) -> list[tuple[Use, Calls]]:
        return [(u, calls) for u in self.uses if (calls := self.calls(u)) is not None]

    def unfound(self) -> Iterator[tuple[int, str, Calls]]:
        """Names that the run called where the scan does not have them."""
        known = {(u.line, u.end_column, u.name) for u in self.uses}
        for (line, end), names in self.sites.items():
            yield from ((line, n, c) for n, c in names.items() if (line, end, n) not in known)

    def add_calls(self, sites: Sites) -> None:
        """Take in a run: what was unsure and called something of the API is sure."""
        self.sites = sites
        settled = []
        for use in self.uses:
            met = sites.get((use.line, use.end_column), {}) if use.why else {}
            names = [name for name in met if name.rpartition(".")[2] == use.name]
            settled += [replace(use, name=name, why="", kind="call") for name in names] or [use]
        self.uses = settled


@dataclass
class Findings:
    """The whole scan."""

    files: list[FileFindings]
    lines: int
    trace: Trace | None = None

    def names(self) -> Counter[str]:
        """How often each name is used, imports apart: what is only imported is not yet used."""
        return Counter(u.name for f in self.files for u in f.sure if u.kind != "import")

    def standings(self) -> dict[str, Standing]:
        return {name: standing(name) for name in sorted(self.names())}

    def by_word(self, word: str) -> dict[str, int]:
        count = self.names()
        return {name: count[name] for name, s in self.standings().items() if s.cpu.word == word}

    def add_trace(self, trace: Trace) -> None:
        """Put what a run called beside the uses."""
        self.trace = trace
        for file in self.files:
            file.add_calls(trace.of(file.path))

    def strategies(self) -> dict[str, Strategy]:
        """The ways out for the names that are missing, most used first."""
        ways = ((name, standing(name).strategy) for name, _ in self.names().most_common())
        return {name: way for name, way in ways if way is not None}

    def issues(self) -> dict[str, str]:
        """The texts that ask for names for which there is no other way."""
        asked = [name for name, way in self.strategies().items() if way.kind == ASK]
        places = {
            name: [f.place_of(u.line) for f in self.files for u in f.sure if u.name == name] for name in asked
        }
        return {name: issue(name, standing(name).cpu.note, places[name]) for name in asked}

    def told(self, file: FileFindings, use: Use) -> str:
        """What there is to say of a use: why it is unsure or does not work, and what a run called."""
        calls = file.calls(use)
        return "; ".join(
            filter(None, [use.why or standing(use.name).cpu.note, calls.text() if calls else ""])
        )

    def effort(self) -> str:
        """The summary in a sentence: what a person has to look at."""
        missing, partly = self.by_word(MISSING), self.by_word(PARTLY)
        unsure = sum(len(f.unsure) for f in self.files)
        if not missing and not partly:
            start = "every name that is used works on the built-in engine"
        else:
            places = sum(missing.values())
            start = f"{len(missing)} names are missing (in {places} places) and {len(partly)} work in part"
        return f"{start}; {unsure} places are unsure"

    def to_dict(self) -> dict[str, Any]:
        return {
            "lines": self.lines,
            "summary": self.effort(),
            "names": {n: {"count": c, **as_dict(standing(n))} for n, c in self.names().most_common()},
            "files": [
                {"path": f.path, "error": f.error or None, "uses": [use_dict(f, u) for u in f.uses]}
                for f in self.files
            ],
            "issues": self.issues(),
            "trace": trace_dict(self) if self.trace else None,
        }


def as_dict(s: Standing) -> dict[str, Any]:
    way = s.strategy
    return {
        "cpu": [s.cpu.word, s.cpu.note],
        "mindspore": [s.mindspore.word, s.mindspore.note],
        "ascend": [s.ascend.word, s.ascend.note],
        "counterpart": s.counterpart or None,
        "verdict": s.verdict,
        "differences": list(s.differences),
        "flags": list(s.flags),
        "strategy": {"kind": way.kind, "use": way.use, "code": way.code or None} if way else None,
    }


def trace_dict(found: Findings) -> dict[str, Any]:
    assert found.trace is not None
    unfound = [
        {"path": f.path, "line": line, "name": name, "count": c.count, "signatures": c.signatures}
        for f in found.files
        for line, name, c in f.unfound()
    ]
    run = {"command": found.trace.command, "engine": found.trace.engine, "exit_code": found.trace.exit_code}
    return {**run, "not_found_by_scan": unfound}


def use_dict(file: FileFindings, use: Use) -> dict[str, Any]:
    found = {"line": use.line, "column": use.column + 1, "name": use.name, "kind": use.kind}
    if file.cells:
        found["cell"], found["cell_line"] = file.cells[use.line - 1]
    if (calls := file.calls(use)) is not None:
        found["called"] = {"count": calls.count, "signatures": calls.signatures}
    return found | ({"unsure": use.why} if use.why else {})


def scan(paths: list[str]) -> Findings:
    """Scan files and folders; nothing of them is run."""
    roots = [Path(p) for p in paths]
    for root in roots:
        if not root.exists():
            raise FileNotFoundError(f"scan: {root} does not exist")
    return scan_sources(roots, [read(p) for p in files(roots)])


def scan_sources(roots: list[Path], sources: list[Source]) -> Findings:
    """Scan what has been read."""
    uses = Program(Project(roots, sources), sources).uses()
    found = [file_findings(s, uses.get(str(s.path), [])) for s in sources]
    return Findings(found, sum(len(s.lines) for s in sources))


def file_findings(source: Source, uses: list[Use]) -> FileFindings:
    return FileFindings(str(source.path), uses, source.error, source.cells, lines=source.lines)
