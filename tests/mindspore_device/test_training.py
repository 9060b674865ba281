"""Four trainings on the device `mindspore` give the losses that they give on `cpu`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter.pytorch import nn

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

STEPS = 20
ROOT = Path(__file__).resolve().parents[2]
TOLERANCE = {"float64": 1e-9, "float32": 1e-4}


def cnn() -> tuple[nn.Module, Callable[[], list[torch.Tensor]]]:
    """Convolutions, BatchNorm, pooling; images of three channels and ten classes."""
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, padding=1, groups=2),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 10),
    )
    return model, lambda: [torch.randn(8, 3, 8, 8), torch.randint(0, 10, (8,))]


class Lstm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.lstm = nn.LSTM(6, 8, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.lstm(self.embedding(x))[0][:, -1])


def lstm() -> tuple[nn.Module, Callable[[], list[torch.Tensor]]]:
    """An embedding and an LSTM; sequences of tokens and five classes."""
    return Lstm(), lambda: [torch.randint(0, 20, (6, 7)), torch.randint(0, 5, (6,))]


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(16, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.encoder(x).mean(1))


def transformer() -> tuple[nn.Module, Callable[[], list[torch.Tensor]]]:
    """Two encoder layers; sequences of vectors and five classes."""
    return Transformer(), lambda: [torch.randn(4, 6, 16), torch.randint(0, 5, (4,))]


def losses(make: Callable, device: str, dtype: str) -> list[float]:
    """The losses of STEPS steps of SGD or Adam from the same start and data."""
    torch.manual_seed(0)
    model, batch = make()
    model = model.to(getattr(torch, dtype)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    found = []
    for _ in range(STEPS):
        x, y = batch()
        x = x.to(getattr(torch, dtype)) if x.is_floating_point() else x
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("make", (cnn, lstm, transformer))
@pytest.mark.filterwarnings("ignore:.*computed on cpu")
def test_losses_are_those_of_cpu(make: Callable, dtype: str) -> None:
    cpu, there = losses(make, "cpu", dtype), losses(make, "mindspore", dtype)
    assert len(set(cpu)) == STEPS
    np.testing.assert_allclose(there, cpu, rtol=TOLERANCE[dtype])


def test_the_demo_trains_by_the_command(tmp_path: Path) -> None:
    """`ms-adapter run --device mindspore` moves the demo, unchanged, to MindSpore."""

    def run(device: str) -> list[float]:
        found = tmp_path / f"{device}.json"
        command = [sys.executable, "-m", "ms_adapter", "run", "--device", device, "examples/digits/train.py"]
        options = [
            "--steps",
            "4",
            "--dtype",
            "float64",
            "--json",
            str(found),
            "--save",
            str(tmp_path / "m.pt"),
        ]
        done = subprocess.run(
            command + options, cwd=ROOT, env=os.environ | {"PYTHONPATH": "."}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        assert f"on {device}" in done.stdout
        return json.loads(found.read_text())["losses"]

    np.testing.assert_allclose(run("mindspore"), run("cpu"), rtol=1e-9)
