"""A target with memory of its own, as Ascend: everything of ours is told that the target is Ascend, and
MindSpore computes on its CPU target, with operands copied in and results copied out."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import ms_adapter.pytorch as torch  # noqa: F401 - before mindspore, which leaves no static TLS after it

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """
    import warnings
    warnings.filterwarnings("ignore", message=".*is unmeasured|.*computed on cpu")
    import numpy as np
    import ms_adapter, ms_adapter.pytorch as torch
    import mindspore as ms
    from ms_adapter import _C
    from ms_adapter.mindspore import _package, ascend, backend
    _package.target = backend.target = lambda: "Ascend"
    ascend.nodes = lambda: "/dev/davinci0"
    ms.hal.is_available = lambda target: True
    chosen = []
    ms.set_device = lambda *given: chosen.append(given)
    def ran():
        return {row: sorted(callables) for row, callables in _C.take_call_counts("npu").items()}
"""


def run(source: str) -> list[str]:
    """What a script prints on the stand-in."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(STAND_IN) + textwrap.dedent(source)],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def test_the_device_comes_up_when_it_is_named():
    said = run("""
        print(torch.npu.is_available(), torch.npu.device_count(), chosen)
        x = torch.ones(2, 3, device="npu:0")
        print(x.device.type, (x + x).tolist(), chosen, torch.device("npu").type)
    """)
    assert said == ["True 1 []", "npu [[2.0, 2.0, 2.0], [2.0, 2.0, 2.0]] [('Ascend',)] npu"]


def test_views_in_place_and_out_are_right_with_copies():
    said = run("""
        x = torch.arange(12.0).reshape(3, 4).to("npu")
        y = torch.empty(3, 4, device="npu")
        x.t()[1].add_(x[0, :3])
        torch.mul(x, 2, out=y)
        x[1:, ::2] *= x[:2, 1::2]
        z = torch.arange(12.0).reshape(3, 4)
        z.t()[1].add_(z[0, :3])
        print(torch.equal(y.cpu(), z * 2))
        z[1:, ::2] *= z[:2, 1::2]
        print(torch.equal(x.cpu(), z), ran())
    """)
    assert said == ["True", "True {'mul': ['mint.mul'], 'add': ['mint.add']}"]


def test_mint_comes_first_and_gives_way():
    said = run("""
        print([c[0] for c in backend.plan("add", ["mint.add", "ops.add", "!int8"])[0]])
        x = torch.tensor([-1.0, 2.0], device="npu")
        print(torch.nn.functional.gelu(x).device.type, ran())
    """)
    assert said == ["['mint.add', 'ops.add']", "npu {'gelu_erf': ['ops.erf']}"]


def test_what_ascend_does_not_have_is_computed_on_cpu_and_reported():
    said = run("""
        x = torch.tensor([1.0, 2.0], dtype=torch.float64, device="npu")
        print((x / 3).tolist() == [1 / 3, 2 / 3], ran(), ms_adapter.fallback_report()[0][0])
    """)
    assert said == ["True {'div': ['cpu']} div"]


def test_a_training_gives_cpus_losses():
    said = run("""
        def losses(device):
            torch.manual_seed(0)
            nn = torch.nn
            model = nn.Sequential(
                nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(),
                nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, 3),
            ).to(device)
            optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
            found = []
            for _ in range(6):
                x, y = torch.randn(8, 1, 6, 6), torch.randint(0, 3, (8,))
                loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found.append(loss.item())
            return found
        here, there = losses("cpu"), losses("npu")
        print(max(abs(a - b) / a for a, b in zip(here, there)) < 1e-4, len(set(here)), ran()["matmul"])
    """)
    assert said == ["True 6 ['ops.matmul']"]


def test_the_unmeasured_target_is_said_to_be_that():
    said = run("""
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            torch.ones(2, device="npu") + 1
        print([str(w.message) for w in found if "unmeasured" in str(w.message)])
    """)
    assert said == [
        "[\"MindSpore's device_target is 'Ascend', on which ms_adapter is unmeasured (docs/ascend.md)\"]"
    ]
