"""The safetensors package on our tensors: its torch part, unchanged, in a process whose torch we are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import ms_adapter.pytorch as face

pytest.importorskip("safetensors", reason="pip install --group test")
import safetensors.torch  # noqa: E402  # here torch is PyTorch

NAMES = (
    "float64",
    "float32",
    "float16",
    "bfloat16",
    "int64",
    "int32",
    "int16",
    "int8",
    "uint8",
    "bool",
    "complex64",
)
SCRIPT = """
import sys, torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

assert torch.__name__ == "ms_adapter.pytorch"
theirs, ours, model_path = sys.argv[1:]
tensors = load_file(theirs)
save_file({name: t.contiguous() for name, t in tensors.items()}, ours, metadata={"format": "pt"})
again = load(save(tensors))
assert all(again[name].equal(t) and again[name].dtype is t.dtype for name, t in tensors.items())

with safe_open(ours, framework="pt") as file:
    assert set(file.keys()) == set(tensors) and file.metadata() == {"format": "pt"}
    part = file.get_slice("float32")
    assert part.get_shape() == [2, 3] and part[:, 1:].equal(tensors["float32"][:, 1:])
    assert file.get_tensor("empty").shape == (0, 3) and file.get_tensor("number").item() == 3

def tied():
    model = torch.nn.ModuleDict({"a": torch.nn.Linear(3, 3), "b": torch.nn.Linear(3, 3)})
    model["b"].weight = model["a"].weight
    return model

model, other = tied(), tied()
save_model(model, model_path)
assert load_model(other, model_path) == (set(), [])
assert other["b"].weight is other["a"].weight and other["a"].weight.equal(model["a"].weight)
loaded = torch.load(theirs)
assert all(loaded[name].equal(t) and loaded[name].dtype is t.dtype for name, t in tensors.items())
"""


def test_files_travel_both_ways(tmp_path: Path) -> None:
    numbers = torch.tensor([[0.0, 1.0, 2.0], [3.0, 1.0, 0.0]])
    tensors = {name: numbers.to(getattr(torch, name)) for name in NAMES}
    tensors |= {"empty": torch.zeros(0, 3), "number": torch.tensor(3)}
    theirs, ours, model = (str(tmp_path / f"{name}.safetensors") for name in ("theirs", "ours", "model"))
    safetensors.torch.save_file(tensors, theirs)
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "ms_adapter", "run", str(script), theirs, ours, model]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    back = safetensors.torch.load_file(ours)
    assert back.keys() == tensors.keys()
    assert all(
        back[name].equal(tensors[name]) and back[name].dtype is tensors[name].dtype for name in tensors
    )


def test_without_the_runner(tmp_path: Path) -> None:
    """Our own reader, which needs no package, on the package's files."""
    tensors = {name: torch.arange(6).reshape(2, 3).to(getattr(torch, name)) for name in NAMES}
    path = tmp_path / "x.safetensors"
    safetensors.torch.save_file(tensors, path)
    for map_location in (None, "cpu", face.device("cpu")):
        loaded = face.load(path, map_location=map_location)
        assert {name: t.tolist() for name, t in loaded.items()} == {n: t.tolist() for n, t in tensors.items()}
    with pytest.raises(RuntimeError, match="map_location"):
        face.load(path, map_location={"cpu": "cpu"})
