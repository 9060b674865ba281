"""convert_scripts.py --repositories FOLDER [--only EXPRESSION]: public scripts after `ms-adapter convert`.

Runs each script of ecosystem/scripts.toml twice on ms_adapter: unmodified under the runner, and converted
under plain Python. Their losses must be the same numbers, and converting again must change nothing. Prints a
row for each project; exit code 1 where a script does not end, has other losses or changes again. The clones
are those of `python -m ecosystem.scripts --fetch`.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ecosystem import scripts
from ms_adapter.tools.converting.project import convert, write_in_place

COLUMNS = ("project", "scripts", "losses", "lines changed", "to look at", "result")


class Row(NamedTuple):
    """What became of one script."""

    project: str
    losses: int
    lines: int
    remarks: int
    faults: list[str]


def one(name: str, script: dict, repositories: Path) -> Row:
    """Run a script both ways in copies of its folder."""
    outcomes, faults = {}, []
    lines = remarks = 0
    for side in ("ours", "converted"):
        with tempfile.TemporaryDirectory(prefix="convert-") as folder:
            work = Path(folder) / "work"
            here = scripts.prepare(script, repositories / script["repository"], work)
            if side == "converted":
                first = convert(work)
                write_in_place(first)
                lines = sum(len(o.changed) for o in first)
                remarks = sum(len(o.remarks) for o in first)
                faults += [
                    f"{name}: {o.path.name} changes again" for o in convert(work) if o.after != o.before
                ]
            outcomes[side] = scripts.run(side, "float32", script, here, "")
    ours, converted = outcomes["ours"], outcomes["converted"]
    faults += [f"{name} {side}: {o.error}" for side, o in outcomes.items() if o.error]
    if not faults and scripts.largest_difference(converted.numbers, ours.numbers) != 0:
        faults.append(f"{name}: the losses differ")
    return Row(script["repository"], len(converted.numbers), lines, remarks, faults)


def rows(table: dict, only: str, repositories: Path) -> Iterator[Row]:
    for name, script in table["scripts"].items():
        if re.search(only, name) and (repositories / script["repository"]).exists():
            row = one(name, script, repositories)
            print(name, *row[1:], file=sys.stderr, flush=True)
            yield row


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("--repositories", type=Path, default=Path("repositories"))
    parser.add_argument("--only", default="", help="scripts whose name matches this expression")
    arguments = parser.parse_args()
    table = tomllib.loads(scripts.TABLE.read_text())
    projects: dict[str, list[Row]] = {}
    for row in rows(table, arguments.only, arguments.repositories):
        projects.setdefault(row.project, []).append(row)
    print("| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS), sep="\n")
    for project, found in projects.items():
        sums = [sum(column) for column in zip(*((row.losses, row.lines, row.remarks) for row in found))]
        bad = sum(bool(row.faults) for row in found)
        result = f"{bad} of them do not" if bad else "run, same losses"
        print(f"| {project} | {len(found)} | {sums[0]} | {sums[1]} | {sums[2]} | {result} |")
    faults = [fault for found in projects.values() for row in found for fault in row.faults]
    for fault in faults:
        print(fault)
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
