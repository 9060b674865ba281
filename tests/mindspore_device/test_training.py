"""The demo, a CNN, an LSTM and a transformer train on the device as on `cpu`, by the command alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

FILE = Path(__file__).resolve().parents[2] / "examples" / "mindspore" / "compare.py"
spec = importlib.util.spec_from_file_location("compare_mindspore", FILE)
compare = importlib.util.module_from_spec(spec)
spec.loader.exec_module(compare)


@pytest.mark.parametrize("dtype", compare.LIMITS)
@pytest.mark.parametrize("name", compare.SCRIPTS)
def test_losses_are_those_of_cpu(name: str, dtype: str) -> None:
    """Over 20 steps, dropout drawn from the same stream; under --strict, so nothing was computed on cpu."""
    found, fell_back = compare.difference(name, dtype, "--strict")
    assert found <= compare.LIMITS[dtype] and fell_back == []
