"""python -m conformance.mapping [--only REGEX] [--check]: measures, and writes the data of `ms-adapter map`.

Runs where MindSpore is; PyTorch may be elsewhere (CONFORMANCE_ORACLE names its site-packages).
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import time
import types
from pathlib import Path
from typing import Any

from ms_adapter.tools.mapping import table

from .. import pool
from . import assemble, names, run
from .face import MindSporeFace


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="conformance.mapping", description=__doc__)
    parser.add_argument("--only", default="", help="regular expression searched in PyTorch's names")
    parser.add_argument(
        "--max-samples", type=int, default=6, help="samples for a dtype, a fixed random choice"
    )
    parser.add_argument("--confirm", type=int, default=40, help="samples for what looks identical")
    parser.add_argument("--jobs", type=int, default=2, help="worker processes")
    parser.add_argument("--timeout", type=float, default=30.0, help="seconds without progress: a hang")
    parser.add_argument("--records", help="keep the raw outcomes in this file")
    parser.add_argument("--reuse", help="take the raw outcomes from this file, measure what it lacks")
    parser.add_argument(
        "--check", action="store_true", help="measure only what is called identical, and say what is not"
    )
    parser.add_argument("--verbose", action="store_true", help="print each item")
    parser.set_defaults(impl="mindspore", device="", grad=False, tol_scale=1.0, traps=False)
    return parser.parse_args()


def measure(wanted: dict[str, list[str]], opts: Any) -> dict[str, dict[str, Any]]:
    """{"torch.add > mindspore.mint.add": {dtype: outcome}}; what ends the process is an outcome too."""
    found: dict[str, dict[str, Any]] = {pair: {} for pair in wanted}
    left = {pair: list(dtypes) for pair, dtypes in wanted.items() if dtypes}
    while left:
        items = [("mapping", f"{pair} @ {','.join(dtypes)}", "") for pair, dtypes in left.items()]
        left = {}
        for record in pool.run_all(items, opts):
            pair, _, dtypes = record["name"].partition(" @ ")
            found[pair] |= record.get("outcomes") or {}
            if opts.verbose:
                print(f"{pair}: {record.get('crash', '')} {record.get('outcomes')}", flush=True)
            if harness := record["phases"].get("harness"):
                print(pair, harness, file=sys.stderr, flush=True)
            if crash := record.get("crash"):
                rest = _after_crash(dtypes.split(","), crash, found[pair])
                if rest and sum("ends" in outcome for outcome in found[pair].values()) < 2:
                    left[pair] = rest
    return found


def _after_crash(dtypes: list[str], crash: str, outcomes: dict[str, Any]) -> list[str]:
    """Notes the dtype that ended the process; gives those that were not tried yet."""
    how, _, where = crash.splitlines()[0].partition(" in ")
    at = where.split(" #")[0]
    if at not in dtypes:
        at = next((d for d in dtypes if d not in outcomes), dtypes[0])
    outcomes[at] = {"ends": 1, "ends:": ["", f"the process ends ({how})"]}
    return dtypes[dtypes.index(at) + 1 :]


def _is_there(found: Any) -> bool:
    return found is not None and not isinstance(found, types.ModuleType)


def check(opts: Any, face: MindSporeFace) -> int:
    """Measures every identical row anew: its signature, defaults and results. 1 where one is not so, twice:
    now and then a worker is ended by MindSpore itself on what it computed a hundred times."""
    rows = [r for r in table.records() if r.verdict == table.IDENTICAL and re.search(opts.only, r.name)]
    faults = _differing(rows, opts, face)
    faults = _differing([row for row, _ in faults], opts, face) if faults else []
    print(*(text for _, text in faults), sep="\n")
    print(f"{len(rows) - len(faults)} of {len(rows)} rows hold")
    return 1 if faults or not rows else 0


def _differing(rows: list[table.Record], opts: Any, face: MindSporeFace) -> list[tuple[table.Record, str]]:
    wanted = {f"{r.name} > {r.counterpart}": run.dtypes_of(r.name) for r in rows}
    outcomes = measure(wanted, argparse.Namespace(**{**vars(opts), "traps": True}))
    faults = []
    for row in rows:
        found = assemble.record(row.name, [row.counterpart], outcomes, face)["maps"]
        if not found or found[0]["verdict"] != table.IDENTICAL:
            faults.append((row, f"{row.name} > {row.counterpart}: {found[0] if found else 'not there'}"))
    return faults


def candidates(face: MindSporeFace, only: str) -> dict[str, list[str]]:
    """PyTorch's names, each with those of MindSpore's that are there."""
    paths = [path for path in names.all_names() if re.search(only, path)]
    return {path: [c for c in names.candidates(path) if _is_there(face.resolve(c))] for path in paths}


def confirm(
    chosen: dict[str, list[str]], outcomes: dict[str, Any], face: MindSporeFace, opts: Any
) -> dict[str, Any]:
    """What looks identical once more, with more samples and traps; then what came up in its place."""
    more = argparse.Namespace(**{**vars(opts), "max_samples": opts.confirm, "traps": True})
    confirmed, known = dict(outcomes), set[str]()
    while wanted := _looks_identical(chosen, confirmed, face, known):
        print(f"{len(wanted)} pairs to confirm", file=sys.stderr, flush=True)
        confirmed |= measure(wanted, more)
        known |= wanted.keys()
    return confirmed


def _looks_identical(
    chosen: dict[str, list[str]], outcomes: dict[str, Any], face: MindSporeFace, known: set[str]
) -> dict[str, list[str]]:
    return {
        pair: run.dtypes_of(path)
        for path, found in chosen.items()
        for entry in assemble.record(path, found, outcomes, face)["maps"]
        if entry["verdict"] == table.IDENTICAL and entry["checked"]
        if (pair := f"{path} > {entry['to']}") not in known
    }


def main() -> int:
    opts, begin = arguments(), time.time()
    face = MindSporeFace()
    if opts.check:
        return check(opts, face)
    chosen = candidates(face, opts.only)
    outcomes = json.loads(Path(opts.reuse).read_text()) if opts.reuse else {}
    pairs = [(path, f"{path} > {candidate}") for path, found in chosen.items() for candidate in found]
    wanted = {pair: run.dtypes_of(path) for path, pair in pairs if pair not in outcomes}
    print(f"{len(chosen)} names, {len(wanted)} pairs to measure", file=sys.stderr, flush=True)
    outcomes |= measure(wanted, opts)
    outcomes = confirm(chosen, outcomes, face, opts)
    if opts.records:
        Path(opts.records).write_text(json.dumps(outcomes))
    assemble.write(chosen, outcomes, face, partial=bool(opts.only))
    print(f"{time.time() - begin:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
