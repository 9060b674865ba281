"""Which MindSpore callable ran for the operators that networks are made of, and with cpu's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it
from ms_adapter import _C
from ms_adapter.pytorch.nn import functional as F

pytest.importorskip("mindspore.ops", reason="needs MindSpore: make test-mindspore")

# Expressions of x (3, 4), y (3, 4), w (4, 2), image (1, 2, 6, 6), kernel (3, 2, 3, 3), i (3, 4).
CALLS = {
    "x + y": {"add": "ops.add"},
    "x - y": {"sub": "ops.sub"},
    "x * y": {"mul": "ops.mul"},
    "x / y": {"div": "ops.div"},
    "x ** 3": {"pow": "ops.pow"},
    "torch.maximum(x, y)": {"maximum": "ops.maximum"},
    "x.abs().sqrt()": {"abs": "ops.abs", "sqrt": "ops.sqrt"},
    "x.exp()": {"exp": "ops.exp"},
    "x.sin()": {"sin": "ops.sin"},
    "torch.erf(x)": {"erf": "ops.erf"},
    "x.neg()": {"neg": "ops.neg"},
    "x < y": {"lt": "ops.lt"},
    "x == y": {"eq": "ops.eq"},
    "torch.where(x < y, x, y)": {"lt": "ops.lt", "where": "ops.where"},
    "x.clamp(-1, 1)": {"_clamp_to_numbers": "ops.where"},
    "x @ w": {"matmul": "ops.matmul"},
    "x.sum()": {"sum": "ops.sum"},
    "x.mean(1)": {"mean.dim": "ops.mean"},
    "x.amax(1)": {"amax": "ops.amax"},
    "x.argmax(1)": {"argmax": "ops.argmax"},
    "x.var(1)": {"_var": "ops.var"},
    "x.cumsum(0)": {"cumsum": "ops.cumsum"},
    "x.softmax(-1)": {"softmax": "ops.exp"},
    "F.gelu(x)": {"gelu_erf": "ops.erf"},
    "F.relu(x)": {"relu": "ops.relu"},
    "torch.tanh(x)": {"tanh": "ops.tanh"},
    "torch.sigmoid(x)": {"sigmoid": "ops.sigmoid"},
    "torch.cat([x, y])": {"cat": "ops.cat"},
    "x.gather(0, i)": {"gather": "ops.gather_d"},
    "x[i[0]]": {"_index": "ops.gather"},
    "F.embedding(i, x)": {"embedding": "ops.gather"},
    "F.conv2d(image, kernel, padding=1)": {"_conv": "ops.matmul"},
    "F.max_pool2d(image, 2)": {"_max_pool": "ops.amax"},
    "F.avg_pool2d(image, 2)": {"_avg_pool": "ops.sum"},
    "F.layer_norm(x, (4,))": {"layer_norm": "ops.mean"},
    "x.tril()": {"tril": "ops.tril"},
    "x.flip(0)": {"flip": "ops.flip"},
    "x.t().contiguous()": {},
}


def operands() -> dict[str, torch.Tensor]:
    torch.manual_seed(0)
    return {
        "x": torch.randn(3, 4),
        "y": torch.randn(3, 4),
        "w": torch.randn(4, 2),
        "image": torch.randn(1, 2, 6, 6),
        "kernel": torch.randn(3, 2, 3, 3),
        "i": torch.randint(0, 3, (3, 4)),
    }


@pytest.mark.parametrize("call", CALLS)
def test_it_ran_by_its_callable_with_cpus_numbers(call: str) -> None:
    here = operands()
    there = {name: t.to("mindspore") for name, t in here.items()}
    space = {"torch": torch, "F": F}
    want = eval(call, space | here)
    _C.take_call_counts("mindspore")
    got = eval(call, space | there)
    ran = _C.take_call_counts("mindspore")
    assert ran == {row: {callable_: 1} for row, callable_ in CALLS[call].items()}
    assert got.device.type == "mindspore" and got.dtype == want.dtype
    np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ("float32", "float64", "float16", "bfloat16"))
def test_dropout_draws_cpus_mask_and_multiplies_on_the_device(dtype: str) -> None:
    results = []
    for device in ("cpu", "mindspore"):
        torch.manual_seed(3)
        x = torch.randn(5, 7, dtype=torch.float32).to(getattr(torch, dtype)).t().to(device).requires_grad_()
        _C.take_call_counts("mindspore") if device == "mindspore" else None
        y = F.dropout(x, 0.3)
        ran = _C.take_call_counts("mindspore") if device == "mindspore" else None
        y.sum().backward()
        results.append((y.detach().cpu().float().numpy(), x.grad.cpu().float().numpy(), torch.rand(1).item()))
    assert ran == {"_dropout": {"ops.mul": 1}}
    for want, got in zip(*results):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("layer", ("dropout1d", "dropout2d", "alpha_dropout", "feature_alpha_dropout"))
def test_the_other_dropouts_have_no_fallback(layer: str) -> None:
    results = []
    _C.take_call_counts("mindspore")
    for device in ("cpu", "mindspore"):
        x = operands()["image"][0].to(device)
        torch.manual_seed(3)
        results.append(getattr(F, layer)(x, 0.5, training=True).cpu().numpy())
    ran = _C.take_call_counts("mindspore")
    assert ran["bernoulli.float"] == {"generator": 1} and not any("cpu" in c for c in ran.values())
    np.testing.assert_allclose(*results, rtol=1e-6)
