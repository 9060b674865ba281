"""Operators, a view, an in-place and a training on torch.device("mindspore"); runs in .venv-mindspore."""

from __future__ import annotations

import numpy as np
import pytest

import ms_adapter
import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter import _C
from ms_adapter.mindspore import backend

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

BINARY = ("add", "sub", "mul", "div")
UNARY = ("neg", "exp", "relu", "tanh")


def pair(*shape: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The same values on cpu and on mindspore, both leaves that want a gradient."""
    cpu = torch.from_numpy(np.random.default_rng(0).standard_normal(shape).astype(np.float32))
    return cpu.clone().requires_grad_(), cpu.to("mindspore").requires_grad_()


def ran() -> dict[str, list[str]]:
    """{operator: the MindSpore callables that served it} since the last question; "cpu" is a fallback."""
    return {row: list(callables) for row, callables in _C.take_call_counts("mindspore").items()}


def same(a: torch.Tensor, b: torch.Tensor) -> None:
    assert b.device.type == "mindspore"
    np.testing.assert_allclose(b.detach().to("cpu").numpy(), a.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", BINARY)
def test_binary(name: str) -> None:
    (a, x), (b, y) = pair(3, 4), pair(1, 4)
    ran()
    want, got = getattr(torch, name)(a, b), getattr(torch, name)(x, y)
    same(want, got)
    assert ran()[name] == [f"ops.{name}"]
    want.sum().backward()
    got.sum().backward()
    same(a.grad, x.grad)
    same(b.grad, y.grad)


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    a, x = pair(3, 4)
    ran()
    want, got = getattr(torch, name)(a), getattr(torch, name)(x)
    same(want, got)
    assert ran()[name] == [f"ops.{name}"]
    want.sum().backward()
    got.sum().backward()
    same(a.grad, x.grad)


def test_matmul_and_sum() -> None:
    (a, x), (b, y) = pair(3, 4), pair(4, 2)
    ran()
    (a @ b).sum(0).sum().backward()
    (x @ y).sum(0).sum().backward()
    same(a.grad, x.grad)
    same(b.grad, y.grad)
    calls = ran()
    assert calls["matmul"] == ["ops.matmul"]
    assert calls["sum"] == ["ops.sum"]


def test_in_place_on_a_view_reaches_the_base() -> None:
    a, x = (t.detach() for t in pair(3, 4))
    a.t()[1].add_(a[0, :3].clone())
    x.t()[1].add_(x[0, :3].clone())
    same(a, x)


def test_a_fallback_is_exact_counted_and_said_once() -> None:
    a, x = pair(6)
    backend.fallbacks.clear()
    ran()
    with pytest.warns(UserWarning, match="histc.*computed on cpu"):
        same(torch.histc(a), torch.histc(x))
    torch.histc(x)
    assert ran()["_histc"] == ["cpu"]
    assert ms_adapter.fallback_report() == [("_histc", 2, "the registry names no callable for it")]


def test_strict_makes_a_fallback_an_error() -> None:
    x = pair(6)[1]
    backend.set_strict(True)
    try:
        with pytest.raises(RuntimeError, match="--strict forbids computing it on cpu"):
            torch.histc(x)
    finally:
        backend.set_strict(False)


def test_what_ends_the_process_is_fenced_off() -> None:
    singular = torch.zeros(3, 3)
    backend.fallbacks.clear()
    with pytest.raises(torch.linalg.LinAlgError):
        torch.linalg.cholesky(singular.to("mindspore"))
    assert "fenced off" in {row: why for row, _, why in backend.fallback_report()}["_linalg_cholesky"]


def test_moving_shares_memory_with_mindspore() -> None:
    x = torch.arange(6.0).reshape(2, 3).to("mindspore")
    theirs = _C.package_tensor(x)
    x.mul_(2)
    np.testing.assert_array_equal(theirs.asnumpy(), x.cpu().numpy())
    assert theirs.data_ptr() == x.data_ptr()


def test_a_result_never_lives_in_an_operand() -> None:
    a, x = (t.detach() for t in pair(3, 4))
    for make in (lambda t: t.reshape(3, 4).contiguous(), lambda t: torch.flip(t, ()), torch.real):
        y = make(x).clone()
        y.add_(1)
    same(a, x)


def test_rules_refuse_before_mindspore_is_asked() -> None:
    x, y = pair(2, 5)[1], pair(3, 5)[1]
    with pytest.raises(RuntimeError, match=r"cannot broadcast|must match"):
        torch.add(x, y)
    with pytest.raises(RuntimeError, match="same device"):
        torch.add(x, torch.ones(2, 5))


def test_npu_says_what_was_looked_for() -> None:
    with pytest.raises(
        RuntimeError, match=r"'npu'.*not on this machine.*MindSpore: 2\.10\.0, targets: CPU.*davinci"
    ):
        torch.device("npu:0")
    with pytest.raises(RuntimeError, match="not on this machine"):
        backend.require("npu")


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


@pytest.mark.parametrize("target", ("Ascend", "GPU"))
def test_a_target_that_is_not_here_is_refused_and_the_device_goes_on(target: str) -> None:
    import mindspore as ms

    import ms_adapter.mindspore as ours

    with pytest.raises(NotImplementedError, match=f"device_target='{target}' is not .*or say 'CPU'"):
        ours.set_context(device_target=target)
    with pytest.raises(RuntimeError, match=f"Unsupported device target {target}"):
        ms.set_context(device_target=target)
    assert (torch.ones(2, device="mindspore") + 1).tolist() == [2.0, 2.0]


def test_a_dtype_that_mindspore_does_not_have_is_computed_on_cpu_and_reported() -> None:
    x = torch.tensor([1.0, 2.0]).to(torch.float8_e5m2).to("mindspore")
    ran()
    assert (x == x).tolist() == [True, True]
    assert ran() == {"eq": ["cpu"]}
