"""What `ms-adapter map` calls identical is so with the installed MindSpore: parameters and results."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")


@pytest.mark.skipif(
    importlib.util.find_spec("torch") is None and not os.environ.get("CONFORMANCE_ORACLE"),
    reason="needs PyTorch as the oracle: make test-mindspore names it by CONFORMANCE_ORACLE",
)
@pytest.mark.slow
def test_every_identical_row_holds() -> None:
    command = [sys.executable, "-m", "conformance.mapping", "--check", "--jobs", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " rows hold" in done.stdout
