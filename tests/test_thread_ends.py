"""Modes and hooks that a thread never leaves: it, and the process, end as if it had."""

from __future__ import annotations

import subprocess
import sys

import pytest

PREPARE = """
import threading
import ms_adapter.pytorch as torch
from ms_adapter.pytorch.utils._python_dispatch import TorchDispatchMode

class Mode(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))

def hooks():
    torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x).__enter__()

def mode():
    Mode().__enter__()
"""
ENDS = {
    "hooks": "hooks()",
    "mode": "mode()",
    "threads": "for enter in (hooks, mode) * 5:\n    t = threading.Thread(target=enter); t.start(); t.join()",
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_is_quiet(name: str) -> None:
    done = subprocess.run([sys.executable, "-c", PREPARE + ENDS[name]], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
