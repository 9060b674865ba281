"""Wrong calls made by a generator (conformance/wrong.py): PyTorch's exception types, whatever is wrong."""

from __future__ import annotations

import collections
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parent.parent
# What differs is listed by `python -m conformance wrong`.
LEAST_OF_ALL = 0.97  # of all calls together
LEAST_OF_A_KIND = 0.9
SLICE = 17  # every so manyth operator in the quick test


def outcomes(records: list[dict]) -> dict[str, collections.Counter]:
    """For each kind of fault how many calls went right and wrong, and the first words about the latter."""
    kinds: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    for record in records:
        for kind, counts in record["phases"].items():
            kinds[kind].update({word: counts.get(word, 0) for word in ("pass", "fail")})
            if "first" in counts:
                kinds[kind][f"{record['name']}: {counts['first']['message'][:160]}"] += 1
    return kinds


def check(records: list[dict]) -> None:
    total = collections.Counter()
    for kind, counts in outcomes(records).items():
        right, wrong = counts.pop("pass"), counts.pop("fail")
        total.update(right=right, all=right + wrong)
        differ = f"{kind}: {wrong} of {right + wrong} differ: {list(counts)}"
        assert right >= LEAST_OF_A_KIND * (right + wrong), differ
    assert total["right"] >= LEAST_OF_ALL * total["all"], total


def test_a_slice_of_the_operators() -> None:
    from conformance import rows, wrong
    from conformance.compare import Record
    from conformance.face import Face

    oracle, face, names = Face("torch"), Face("ms_adapter.pytorch"), rows.public_names()
    items = [item for item in wrong.listing(None) if rows.has_row(item[0], names)]
    records = []
    for name, category in items[::SLICE]:
        record = Record("wrong", name, category, lambda *_: None)
        wrong.run(name, oracle, face, record, None)
        records.append(record.data)
    calls = sum(sum(c.get("pass", 0) for c in r["phases"].values()) for r in records)
    assert len(records) >= 20 and calls > 500
    check(records)


@pytest.mark.slow
def test_all_operators(tmp_path: Path) -> None:
    out = tmp_path / "wrong.json"
    command = [sys.executable, "-m", "conformance", "wrong", "--rows", "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3000, env={**os.environ})
    assert out.exists(), done.stdout + done.stderr
    items = json.loads(out.read_text())["items"]
    assert not [item["name"] for item in items if item["crash"] and "should" in item["crash"]]
    check(items)
