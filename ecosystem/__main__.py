"""`python -m ecosystem`: runs the cases of every library under us and under PyTorch and prints a table."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ecosystem.compare import difference
from ecosystem.install import refuse_torch

HERE = Path(__file__).parent
TABLE = HERE / "libraries.toml"
TIMEOUT_S = 900
COLUMNS = ("library", "version", "ran", "ours", "PyTorch", "equal", "stubs", "s ours", "s PyTorch")


class Side(NamedTuple):
    """What one process found."""

    checks: dict[str, dict[str, Any]]
    end: dict[str, Any]
    log: str

    @property
    def passed(self) -> int:
        return sum(found["error"] is None for found in self.checks.values())


def run(side: str, case: Path, torch_path: str) -> Side:
    """Run a case in a process; where PyTorch is installed is seen by its own side only."""
    root = str(HERE.parent)
    paths = [root] if side == "ours" else [root, torch_path]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "HF_HUB_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    command = [sys.executable, "-m", "ecosystem.child", side, str(case)]
    try:
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, cwd=root)
        log, code = done.stdout + done.stderr, done.returncode
    except subprocess.TimeoutExpired:
        log, code = f"no end after {TIMEOUT_S} s", -1
    lines = [line.split(" ", 1) for line in log.splitlines() if line.startswith(("@check ", "@end "))]
    checks = {
        found["check"]: found for kind, text in lines if kind == "@check" for found in [json.loads(text)]
    }
    end: dict[str, Any] = next((json.loads(text) for kind, text in lines if kind == "@end"), {})
    if code != 0 or not end:
        last = next((line for line in reversed(log.splitlines()) if line.strip()), "no output")
        checks["the whole case"] = {"check": "the whole case", "error": last, "values": None, "tolerance": 0}
    return Side(checks, end, log)


def verdicts(ours: Side, theirs: Side) -> Iterator[tuple[str, str | None]]:
    """Each check that PyTorch passes, with what is wrong on our side, or None."""
    for name, want in theirs.checks.items():
        got = ours.checks.get(name)
        if want["error"] is not None:
            continue
        if got is None:
            yield name, "did not run"
        elif got["error"] is not None:
            yield name, got["error"]
        else:
            yield name, difference(got["values"], want["values"], want["tolerance"])


def version(library: str) -> str:
    """The installed version of the library's first package."""
    return importlib.metadata.version(library)


def rows(libraries: dict[str, Any], torch_path: str, logs: Path | None) -> Iterator[dict[str, Any]]:
    """Run everything, and yield a row of the table for each library."""
    for library, entry in libraries.items():
        totals: dict[str, Any] = dict.fromkeys(("ran", "ours", "PyTorch", "equal", "s ours", "s PyTorch"), 0)
        faults: dict[str, str] = {}
        stubs: dict[str, bool] = {}
        for case in entry["cases"]:
            file = HERE / "cases" / f"{case}.py"
            sides = {side: run(side, file, torch_path) for side in ("ours", "torch")}
            ours, theirs = sides["ours"], sides["torch"]
            if logs:
                for side, found in sides.items():
                    (logs / f"{case}.{side}.log").write_text(found.log)
            judged = dict(verdicts(ours, theirs))
            faults |= {f"{case}: {name}": wrong for name, wrong in judged.items() if wrong}
            faults |= {f"{case}: {n}, PyTorch": f["error"] for n, f in theirs.checks.items() if f["error"]}
            stubs |= ours.end.get("stubs", {})
            totals["ran"] += len(theirs.checks.keys() | ours.checks.keys())
            totals["ours"] += ours.passed
            totals["PyTorch"] += theirs.passed
            totals["equal"] += sum(wrong is None for wrong in judged.values())
            totals["s ours"] += ours.end.get("seconds", 0)
            totals["s PyTorch"] += theirs.end.get("seconds", 0)
        yield {"library": library, "version": version(library), **totals, "faults": faults, "stubs": stubs}


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    stubs = row["stubs"]
    shown = row | {"stubs": f"{len(stubs)} ({sum(stubs.values())} used)" if stubs else "0"}
    cells = [f"{shown[c]:.1f}" if isinstance(shown[c], float) else str(shown[c]) for c in COLUMNS]
    return "| " + " | ".join(cells) + " |"


def main() -> int:
    """The command; the exit code is 1 where a check that PyTorch passes fails or differs under us."""
    parser = argparse.ArgumentParser(prog="python -m ecosystem", description=__doc__)
    parser.add_argument("--torch-path", required=True, help="folder in which PyTorch is installed")
    parser.add_argument("--only", default="", help="libraries whose name matches this expression")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    parser.add_argument("--logs", type=Path, help="write what each process printed into this folder")
    args = parser.parse_args()
    refuse_torch()
    libraries = {n: e for n, e in tomllib.loads(TABLE.read_text()).items() if re.search(args.only, n)}
    if args.logs:
        args.logs.mkdir(parents=True, exist_ok=True)
    print("| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS), sep="\n", flush=True)
    found = []
    for row in rows(libraries, os.path.abspath(args.torch_path), args.logs):
        found.append(row)
        print(line(row), flush=True)
    for row in found:
        for name, wrong in row["faults"].items():
            print(f"{row['library']}, {name}: {wrong}")
    if args.json:
        args.json.write_text(json.dumps(found, indent=1))
    return int(any(row["faults"] for row in found))


if __name__ == "__main__":
    sys.exit(main())
