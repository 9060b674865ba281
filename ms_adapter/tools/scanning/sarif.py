"""The scan as SARIF 2.1.0, which code hosts and editors show beside the lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import ms_adapter

from .findings import FileFindings, Findings
from .program import Use
from .targets import MISSING, PARTLY, standing

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
RULES = {
    "missing": ("error", "A name that ms_adapter lacks"),
    "partly": ("warning", "A name that works in part"),
    "unsure": ("note", "A place that may use PyTorch: nothing tells what the object is"),
    "flag": ("note", "A use that a migration has to look at"),
    "unreadable": ("warning", "A file that could not be scanned"),
}


def sarif(found: Findings) -> str:
    """The text of the log."""
    results = [r for f in found.files for r in file_results(f)]
    rules = [
        {"id": f"scan/{key}", "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for key, (level, text) in RULES.items()
    ]
    driver = {"name": "ms-adapter scan", "version": ms_adapter.__version__, "rules": rules}
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def file_results(file: FileFindings) -> list[dict[str, Any]]:
    if file.error:
        return [result("unreadable", file.error, file.path, None)]
    return [r for use in file.uses if (r := use_result(file, use))]


def use_result(file: FileFindings, use: Use) -> dict[str, Any] | None:
    if use.why:
        return result("unsure", f"may be a tensor's or module's `{use.name}`: {use.why}", file.path, use)
    s = standing(use.name)
    if s.cpu.word in (MISSING, PARTLY):
        return result(
            "missing" if s.cpu.word == MISSING else "partly", f"{use.name}: {s.cpu.note}", file.path, use
        )
    return result("flag", f"{use.name}: {', '.join(s.flags)}", file.path, use) if s.flags else None


def result(kind: str, text: str, path: str, use: Use | None) -> dict[str, Any]:
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if use is not None:
        region = {"startLine": use.line, "startColumn": use.column + 1, "endColumn": use.end_column + 1}
        location["region"] = region
    found = {"ruleId": f"scan/{kind}", "level": RULES[kind][0], "message": {"text": text}}
    return found | {"locations": [{"physicalLocation": location}]}
