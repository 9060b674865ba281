"""Operators, a view, an in-place and a training on torch.device("mindspore"); runs in .venv-mindspore."""

from __future__ import annotations

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter.mindspore import backend

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

BINARY = ("add", "sub", "mul", "div")
UNARY = ("neg", "exp", "relu", "tanh")


def pair(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The same values on cpu and on mindspore, both leaves that want a gradient."""
    cpu = torch.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    return cpu.clone().requires_grad_(), cpu.to("mindspore").requires_grad_()


def same(a: torch.Tensor, b: torch.Tensor) -> None:
    assert b.device.type == "mindspore"
    np.testing.assert_allclose(b.detach().to("cpu").numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    (a, x), (b, y) = pair(3, 4), pair(1, 4)
    want, got = getattr(torch, name)(a, b), getattr(torch, name)(x, y)
    same(want, got)
    assert backend.native[name].endswith(name)
    want.sum().backward()
    got.sum().backward()
    same(a.grad, x.grad)
    same(b.grad, y.grad)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    a, x = pair(3, 4)
    want, got = getattr(torch, name)(a), getattr(torch, name)(x)
    same(want, got)
    assert name in backend.native
    want.sum().backward()
    got.sum().backward()
    same(a.grad, x.grad)


def test_matmul_and_sum() -> None:
    (a, x), (b, y) = pair(3, 4), pair(4, 2)
    (a @ b).sum(0).sum().backward()
    (x @ y).sum(0).sum().backward()
    same(a.grad, x.grad)
    same(b.grad, y.grad)
    assert {"matmul", "sum"} <= set(backend.native)


def test_in_place_on_a_view_reaches_the_base() -> None:
    a, x = (t.detach() for t in pair(3, 4))
    a.t()[1].add_(a[0, :3].clone())
    x.t()[1].add_(x[0, :3].clone())
    same(a, x)


def test_a_fallback_is_counted_and_said_once() -> None:
    x = torch.ones(3).to("mindspore")
    backend.fallbacks.clear()
    with pytest.warns(UserWarning, match="computed on cpu"):
        y = x.clone().requires_grad_()
        y.relu().sum().backward()
    assert backend.fallbacks["threshold_backward"] == 1
    assert backend.fallback_report() == [("threshold_backward", 1, "the registry names no callable")]
    same(torch.ones(3), y.grad)


def test_mlp_trains_as_on_cpu() -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        nn = torch.nn
        model = nn.Sequential(
            nn.Linear(4, 16),
            nn.ReLU(),
            nn.Linear(16, 16),
            nn.Tanh(),
            nn.Linear(16, 8),
            nn.ReLU(),
            nn.Linear(8, 1),
        )
        x, y = torch.randn(32, 4), torch.randn(32, 1)
        model, x, y = model.to(device), x.to(device), y.to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        out = []
        for _ in range(20):
            optimizer.zero_grad()
            loss = ((model(x) - y) * (model(x) - y)).sum() / 32
            loss.backward()
            optimizer.step()
            out.append(loss.item())
        return out

    cpu, there = losses("cpu"), losses("mindspore")
    assert there[-1] < there[0]
    np.testing.assert_allclose(there, cpu, rtol=1e-4)
