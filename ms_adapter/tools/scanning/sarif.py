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
    "use": ("none", "A name that works, where it is used, and what MindSpore calls it"),
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
        return [result("unreadable", file.error, file, None)]
    return [use_result(file, use) for use in file.uses if use.kind != "import" or is_trouble(use)]


def is_trouble(use: Use) -> bool:
    """What is only imported counts where it is missing, works in part or has to be looked at."""
    s = standing(use.name)
    return s.cpu.word in (MISSING, PARTLY) or bool(s.flags)


def use_result(file: FileFindings, use: Use) -> dict[str, Any]:
    if use.why:
        return result("unsure", f"may be a tensor's or module's `{use.name}`: {use.why}", file, use)
    s = standing(use.name)
    told = [f"{use.name}: {s.remark() or s.cpu.note}"]
    told += [f"What to do: {s.strategy}"] if s.strategy else []
    told += [f"MindSpore: {s.mapped}"] if s.mapped else []
    rule = s.cpu.word if s.cpu.word in (MISSING, PARTLY) else "flag" if s.flags else "use"
    found = result(rule, ". ".join(told), file, use)
    found["properties"] = {
        "name": s.name,
        "targets": {"cpu": s.cpu.word, "mindspore-cpu": s.mindspore.word, "mindspore-ascend": s.ascend.word},
        "mindspore": {"name": s.counterpart, "verdict": s.verdict, "differences": list(s.differences)},
    }
    if (calls := file.calls(use)) is not None:
        found["properties"]["called"] = calls.text()
    return found


def result(kind: str, text: str, file: FileFindings, use: Use | None) -> dict[str, Any]:
    path = file.path
    uri = Path(path).as_uri() if Path(path).is_absolute() else quote(Path(path).as_posix())
    location: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if use is not None:
        first, last = file.columns(use)
        location["region"] = {"startLine": use.line, "startColumn": first + 1, "endColumn": last + 1}
    level = RULES[kind][0]
    found = {"ruleId": f"scan/{kind}", "level": level, "message": {"text": text}}
    if level == "none":
        found["kind"] = "informational"
    return found | {"locations": [{"physicalLocation": location}]}
