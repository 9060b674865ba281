"""What `convert --to mindspore` writes gives the same numbers under MindSpore as the program did on `cpu`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")
pytest.importorskip("libcst")

from ms_adapter.tools import mapping  # noqa: E402
from ms_adapter.tools.converting.project import convert, write_copy  # noqa: E402

# A step for each name that the map may call identical for ordinary numbers; the program is made of those
# that it does call so.
STEPS = {
    "torch.nn.functional.relu": "x = F.relu(x) - y",
    "torch.nn.functional.softplus": "x = F.softplus(x)",
    "torch.sqrt": "x = x * torch.sqrt(y * y)",
    "torch.mul": "x = torch.mul(x, y)",
    "torch.sub": "x = torch.sub(y, x)",
    "torch.clamp": "x = torch.clamp(x, min=-0.5, max=0.5)",
    "torch.flip": "x = torch.flip(x, dims=[1])",
    "torch.hstack": "x = torch.hstack([x, y])[:, 2:6]",
    "torch.chunk": "x = torch.chunk(x, 2, dim=1)[0] - y[:, :2]",
    "torch.mean": "x = x - torch.mean(x, dim=0)",
    "torch.sum": "x = x + torch.sum(y, dim=1, keepdim=True)",
    "torch.unsqueeze": "x = torch.unsqueeze(x, 0)[0]",
    "torch.pow": "x = torch.pow(x, 2)",
    "torch.transpose": "x = torch.transpose(x, 0, 1)",
    "torch.reshape": "x = torch.reshape(x, (-1,))",
}
HEAD = "import torch\nimport torch.nn.functional as F\n\n\ndef program(x, y):\n"
MODULE = """\
import torch
import torch.nn as nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.SiLU()
        self.loss = nn.MSELoss()

    def forward(self, x, y):
        gate = self.act(torch.sub(x, y))
        return self.loss(torch.mul(gate, x), y)
"""
X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)


def both(
    folder: Path, name: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> tuple[ModuleType, ModuleType]:
    """The program on ms_adapter, and in MindSpore's names with nothing left of PyTorch's but in comments."""
    (folder / "given").mkdir()
    (folder / "given" / f"{name}.py").write_text(text)
    found = []
    for to in ("ms_adapter", "mindspore"):
        write_copy(folder / "given", folder / to, convert(folder / "given", to))
        monkeypatch.syspath_prepend(str(folder / to))
        sys.modules.pop(name, None)
        found.append(importlib.import_module(name))
    written = (folder / "mindspore" / f"{name}.py").read_text().splitlines()
    assert [line for line in written if "torch" in line and not line.lstrip().startswith("#")] == []
    return found[0], found[1]


def identical(name: str) -> bool:
    record = mapping.lookup(name)
    return record is not None and record.best is not None and record.best.ordinary


def test_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps = [step for name, step in STEPS.items() if identical(name)]
    assert len(steps) >= 8
    text = HEAD + "".join(f"    {step}\n" for step in steps) + "    return x\n"
    ours, theirs = both(tmp_path, "function_to_convert", text, monkeypatch)
    here = ours.program(*map(torch.from_numpy, (X, Y))).numpy()
    there = theirs.program(*map(ms.Tensor, (X, Y))).asnumpy()
    assert there.shape == here.shape
    np.testing.assert_allclose(there, here, rtol=1e-5, atol=1e-6)


def test_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = both(tmp_path, "module_to_convert", MODULE, monkeypatch)
    assert issubclass(theirs.Gate, ms.nn.Cell)
    here = ours.Gate()(*map(torch.from_numpy, (X, Y))).item()
    assert theirs.Gate()(*map(ms.Tensor, (X, Y))).asnumpy() == pytest.approx(here, rel=1e-6)
