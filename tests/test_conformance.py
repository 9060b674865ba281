"""A fast slice of the conformance harness: the rows against PyTorch, and the harness on itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
pytest.importorskip("torch")
ROOT = Path(__file__).resolve().parent.parent


def conformance(out: Path, *args: str) -> dict:
    """Run the harness and return what it wrote."""
    command = [sys.executable, "-m", "conformance", *args, "--json", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1500, env={**os.environ})
    assert out.exists(), done.stdout + done.stderr
    print(done.stdout)
    return json.loads(out.read_text())


def test_operators_with_a_row_agree_with_pytorch(tmp_path):
    got = conformance(tmp_path / "ops.json", "ops", "--rows", "--max-samples", "4")
    items = [item for item in got["items"] if not item["skip"]]
    assert len(items) >= 110, got["error"]
    crashed = [item["name"] for item in items if item["crash"]]
    unclean = [item["name"] for item in items if not item["clean"]]
    assert not crashed
    assert len(unclean) <= 0.03 * len(items), unclean


def test_the_harness_finds_planted_faults(tmp_path):
    """Wrong values, dtype, gradient and out= of a stand-in are all found; what it leaves alone is clean."""
    only = "^(exp|sinh|square|sign|tanh)@"
    got = conformance(tmp_path / "f.json", "ops", "--impl", "conformance.standins.faulty", "--only", only)
    clean = {item["name"].partition("@")[0]: item["clean"] for item in got["items"]}
    assert clean == {"exp": False, "sinh": False, "square": False, "sign": False, "tanh": True}
