"""The example trains under the runner to the same numbers as under PyTorch, and training keeps no memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples" / "digits"
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))}


def python(*args: str) -> str:
    done = subprocess.run([sys.executable, *args], capture_output=True, text=True, env=ENV, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_example_reaches_98_percent_under_the_runner(tmp_path):
    out = tmp_path / "result.json"
    args = ["--json", str(out), "--save", str(tmp_path / "digits.pt")]
    text = python("-m", "ms_adapter", "run", str(EXAMPLE / "train.py"), *args)
    result = json.loads(out.read_text())
    assert result["module"] == "ms_adapter.pytorch"
    assert result["accuracy"] >= 0.98
    assert "images/s" in text and (tmp_path / "digits.pt").stat().st_size > 100_000


@pytest.mark.slow
def test_the_example_trains_to_pytorchs_numbers():
    """compare.py fails where losses or accuracy differ too much; `make demo-compare` takes all steps."""
    pytest.importorskip("torch")
    print(python(str(EXAMPLE / "compare.py"), "--", "--steps", "60"))


STEPS = """
import resource
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2))
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))

def steps(count):
    for _ in range(count):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()

print(steps(100), steps(9_900))
"""


@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="ASan keeps freed memory")
def test_ten_thousand_steps_keep_no_memory(tmp_path):
    script = tmp_path / "steps.py"
    script.write_text(STEPS)
    early, late = map(int, python("-m", "ms_adapter", "run", str(script)).split())
    assert late - early < 1 << 20
