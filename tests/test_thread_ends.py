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


def test_what_a_thread_held_is_given_back() -> None:
    """Not by the thread itself, which no longer can, but when the next one enters something."""
    code = """
import gc, weakref
class Pack:
    def __call__(self, x):
        return x
pack = Pack()
seen = weakref.ref(pack)
t = threading.Thread(target=lambda p=pack: torch.autograd.graph.saved_tensors_hooks(p, p).__enter__())
del pack
t.start(); t.join(); del t
for _ in range(1000):
    with torch.autograd.graph.saved_tensors_hooks(len, len):
        pass
    gc.collect()
    if seen() is None:
        break
assert seen() is None
"""
    done = subprocess.run([sys.executable, "-c", PREPARE + code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
