"""Python threads that use tensors at once, and work in a forked child of a parent that used threads."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import ms_adapter.pytorch as torch

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 1.0


def train(shared: torch.Tensor, until: float, losses: list[float]) -> None:
    """Train a little, again and again: graphs, hooks, views, in-place changes, small and large tensors."""
    while time.monotonic() < until:
        weight = torch.full((16, 64), 0.01).requires_grad_()
        weight.register_hook(lambda grad: grad * 2)
        for _ in range(3):
            hidden = (shared @ weight).tanh() * 1
            hidden[::2].add_(1)
            hidden.square().mean().backward()
            with torch.no_grad():
                weight.sub_(weight.grad, alpha=0.1)
                weight.grad = None
        losses.append(weight.sum().item())
        losses.append(shared.repeat(64, 4).sum().item())


def test_two_threads_use_tensors_at_once() -> None:
    shared = torch.linspace(-1, 1, 64 * 16).reshape(64, 16)
    alone: list[float] = []
    train(shared, time.monotonic() + 0.01, alone)
    results: list[list[float]] = [[], []]
    until = time.monotonic() + SECONDS
    workers = [threading.Thread(target=train, args=(shared, until, losses)) for losses in results]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert all(len(losses) >= 2 for losses in results)
    assert all(set(losses) == set(alone) for losses in results)


def test_large_kernels_of_two_threads_overlap() -> None:
    """Kernels that release the GIL give each thread its own result."""
    x = torch.arange(1 << 18).double()
    sums: list[float] = []
    workers = [
        threading.Thread(target=lambda: sums.extend((x * 2).sum().item() for _ in range(20)))
        for _ in range(2)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=60)
    assert sums == [float((1 << 18) * ((1 << 18) - 1))] * 40


FORK = """
import os
import ms_adapter.pytorch as torch
import ms_adapter.pytorch.nn.functional as F

x = torch.linspace(0, 1, 8 * 3 * 64 * 64).reshape(8, 3, 64, 64)
weight = torch.linspace(0, 1, 16 * 3 * 3 * 3).reshape(16, 3, 3, 3).requires_grad_()

def work():
    weight.grad = None
    y = F.conv2d(x, weight, padding=1)  # oneDNN or our own loops
    y = y.reshape(512, -1) @ y.reshape(-1, 512)  # BLAS
    y.sum().backward()
    big = torch.ones(1 << 21)
    return (big + big).sum().item(), y.mean().item(), weight.grad.sum().item()

torch.set_num_threads(2)
want = work()  # parallel regions: teams of threads exist now
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        got = work()
        close = all(abs(a - b) <= 1e-4 * abs(b) for a, b in zip(got, want))
        if not close:
            print(got, want, flush=True)
        os._exit(0 if close else 1)
    children.append(child)
work()  # the parent goes on meanwhile
print(*[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_a_forked_child_computes() -> None:
    done = subprocess.run([sys.executable, "-c", FORK], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["0", "0", "0"], done.stdout + done.stderr
