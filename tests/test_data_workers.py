"""Loaders with workers and torch.multiprocessing: the cases of data_cases give what PyTorch gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow  # processes that import PyTorch

from data_cases import CASES  # noqa: E402 - needs PyTorch

TESTS = Path(__file__).resolve().parent
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), os.environ.get("PYTHONPATH", "")])}


@pytest.fixture(scope="module")
def answers() -> dict[str, dict[str, Any]]:
    """{side: {case: what it gave}}; the two sides run at once."""
    script = str(TESTS / "data_cases.py")
    running = {
        side: subprocess.Popen(
            [sys.executable, script, side], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
        )
        for side in ("ours", "torch")
    }
    found = {}
    for side, process in running.items():
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, f"{side}: {err}"
        found[side] = dict(map(json.loads, out.splitlines()))
    return found


@pytest.mark.parametrize("case", CASES)
def test_same_as_pytorch(case: str, answers: dict[str, dict[str, Any]]) -> None:
    assert answers["ours"][case] == answers["torch"][case]
