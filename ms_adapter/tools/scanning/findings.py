"""What a scan found, gathered for its readers: by file, by name, and in sum."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .program import Program, Use
from .project import Project
from .source import Source, files, read
from .targets import MISSING, PARTLY, Standing, standing


@dataclass
class FileFindings:
    """One file: its uses in order, or why it was passed over."""

    path: str
    uses: list[Use] = field(default_factory=list)
    error: str = ""
    cells: list[tuple[int, int]] | None = None  # of a notebook: (cell, line in it) by line

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


@dataclass
class Findings:
    """The whole scan."""

    files: list[FileFindings]
    lines: int

    def names(self) -> Counter[str]:
        """How often each name is used, imports apart: what is only imported is not yet used."""
        return Counter(u.name for f in self.files for u in f.sure if u.kind != "import")

    def standings(self) -> dict[str, Standing]:
        return {name: standing(name) for name in sorted(self.names())}

    def by_word(self, word: str) -> dict[str, int]:
        count = self.names()
        return {name: count[name] for name, s in self.standings().items() if s.cpu.word == word}

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
        }


def as_dict(s: Standing) -> dict[str, Any]:
    return {
        "cpu": [s.cpu.word, s.cpu.note],
        "mindspore": [s.mindspore.word, s.mindspore.note],
        "ascend": [s.ascend.word, s.ascend.note],
        "counterpart": s.counterpart or None,
        "differences": s.differences or None,
        "flags": list(s.flags),
    }


def use_dict(file: FileFindings, use: Use) -> dict[str, Any]:
    found = {"line": use.line, "column": use.column + 1, "name": use.name, "kind": use.kind}
    if file.cells:
        found["cell"], found["cell_line"] = file.cells[use.line - 1]
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
    return FileFindings(str(source.path), uses, source.error, source.cells)
