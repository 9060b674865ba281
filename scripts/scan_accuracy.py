"""The scan against what a run called.

    scan_accuracy.py record OUT ROOT SCRIPT [ARGS ...]
    scan_accuracy.py compare ROOT RECORD ... [--verbose]

`record` runs a script under real PyTorch with every call in ROOT's files watched: what the program's text
calls is looked at as the run holds it, so that no inference takes part. `compare` scans ROOT without running
anything and prints recall and precision at the call sites that the runs reached.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ms_adapter.tools.scanning.tracing import plain_name
from ms_adapter.tools.scanning.watch import Record, Site, run


def record(out: Path, root: Path, command: list[str]) -> None:
    """Run the command as `python SCRIPT ARGS` would; write down what it called in files below the root."""
    kept = Record()
    try:
        run(kept, command, lambda path: path.is_relative_to(root.resolve()))
    except SystemExit:
        pass
    finally:
        out.write_text(kept.to_json())


def compare(root: Path, records: list[Path], verbose: bool) -> None:
    from ms_adapter.tools.scanning import project, source
    from ms_adapter.tools.scanning.program import Program

    truth: dict[str, dict[Site, set[str]]] = {}
    for log in records:
        for file, sites in json.loads(log.read_text()).items():
            for line, end, names in sites:
                truth.setdefault(str(Path(file).resolve()), {}).setdefault((line, end), set()).update(
                    map(plain_name, names)
                )
    sources = [source.read(p) for p in source.files([root])]
    found = Program(project.Project([root], sources), sources).uses()
    guessed: dict[str, dict[Site, set[str]]] = {}
    unsure: dict[str, dict[Site, str]] = {}
    for path, uses in found.items():
        for use in uses:
            at = (use.line, use.end_column)
            if use.kind == "call" and not use.why:
                guessed.setdefault(str(Path(path).resolve()), {}).setdefault(at, set()).add(use.name)
            elif use.why:
                unsure.setdefault(str(Path(path).resolve()), {})[at] = use.why
    hit = missed = wrong = 0
    for file, sites in truth.items():
        for at, names in sites.items():
            ours = guessed.get(file, {}).get(at, set())
            hit += len(names & ours)
            missed += len(names - ours)
            wrong += len(ours - names)
            if verbose and names != ours:
                why = unsure.get(file, {}).get(at, "")
                print(f"{file}:{at[0]}:{at[1]}: run {sorted(names)}, scan {sorted(ours)} {why}")
    print(
        f"{root.name}: {hit + missed} names called, recall {hit / max(hit + missed, 1):.1%}, "
        f"precision {hit / max(hit + wrong, 1):.1%}"
    )


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "record":
        record(Path(rest[0]), Path(rest[1]), rest[2:])
    else:
        given = [a for a in rest if a != "--verbose"]
        compare(Path(given[0]), [Path(p) for p in given[1:]], "--verbose" in rest)
