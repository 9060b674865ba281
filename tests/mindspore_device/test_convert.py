"""What `convert --to mindspore` writes gives the same numbers under MindSpore as the program did on `cpu`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")
pytest.importorskip("libcst")

from ms_adapter.tools.converting.project import convert, write_copy  # noqa: E402

FUNCTIONS = """\
import torch
import torch.nn.functional as F


def mixed(x, y):
    joined = torch.cat([F.relu(x), torch.sqrt(torch.mul(y, y))], dim=1)
    left, right = torch.chunk(torch.flip(joined, dims=[1]), 2, dim=1)
    return torch.transpose(left - right, 0, 1).reshape(-1)


def reduced(x):
    return torch.mean(torch.clamp(x, min=-0.5, max=0.5), dim=0), torch.prod(torch.reshape(x, (6, 2)), dim=1)
"""
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
        return self.loss(torch.maximum(gate, x), y)
"""
X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
Y = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)


@pytest.fixture
def both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """(the program on ms_adapter, the program converted) as modules, by its text."""

    def load(name: str, text: str):
        (tmp_path / "given").mkdir()
        (tmp_path / "given" / f"{name}.py").write_text(text)
        found = []
        for to in ("ms_adapter", "mindspore"):
            outcomes = convert(tmp_path / "given", to)
            write_copy(tmp_path / "given", tmp_path / to, outcomes)
            monkeypatch.syspath_prepend(str(tmp_path / to))
            sys.modules.pop(name, None)
            found.append(importlib.import_module(name))
        assert "torch" not in (tmp_path / "mindspore" / f"{name}.py").read_text().replace(
            "mindspore: torch.nn.Module", ""
        )
        return found

    return load


def same(ours, theirs) -> None:
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.asnumpy(), rtol=1e-6, atol=1e-6)


def test_functions(both) -> None:
    ours, theirs = both("functions_to_convert", FUNCTIONS)
    for name, arguments in (("mixed", (X, Y)), ("reduced", (X,))):
        here = getattr(ours, name)(*map(torch.from_numpy, arguments))
        there = getattr(theirs, name)(*map(ms.Tensor, arguments))
        same(here if isinstance(here, tuple) else [here], there if isinstance(there, tuple) else [there])


def test_a_module(both) -> None:
    ours, theirs = both("module_to_convert", MODULE)
    assert issubclass(theirs.Gate, ms.nn.Cell)
    here, there = ours.Gate()(*map(torch.from_numpy, (X, Y))), theirs.Gate()(*map(ms.Tensor, (X, Y)))
    same([here], [there])
