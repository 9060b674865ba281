"""Our tensors and modules among MindSpore's, over the same memory and with gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import ms_adapter.pytorch as torch  # before mindspore, which leaves no static TLS for libraries after it

ms = pytest.importorskip("mindspore", reason="needs MindSpore: make test-mindspore")

from ms_adapter.mindspore import (  # noqa: E402
    as_cell,
    as_module,
    cast_to_adapter_tensor,
    cast_to_ms_tensor,
)


@pytest.mark.parametrize("dtype", ("float32", "float64", "int64", "bool", "complex64"))
def test_casts_share_memory_both_ways(dtype: str) -> None:
    x = torch.ones(2, 3).to(getattr(torch, dtype))
    theirs = cast_to_ms_tensor({"x": [x, 1]})["x"][0]
    x.zero_()
    assert not theirs.asnumpy().any()
    back = cast_to_adapter_tensor((theirs, None))
    assert back[1] is None and back[0].device.type == "mindspore" and back[0].dtype == x.dtype
    assert back[0].data_ptr() == theirs.data_ptr() == x.data_ptr()


def test_a_dtype_that_mindspore_does_not_have() -> None:
    with pytest.raises(TypeError, match=r"2\.10\.0 has no dtype for torch.float8_e4m3fn; cast"):
        cast_to_ms_tensor([torch.ones(2).to(torch.float8_e4m3fn)])


def test_a_mindspore_function_within_our_autograd() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], device="mindspore", requires_grad=True)
    y = as_module(lambda a: ms.ops.sin(a) * a)(x * 2)
    y.sum().backward()
    z = 2 * x.detach().cpu()
    torch.testing.assert_close(x.grad.cpu(), 2 * (z.cos() * z + z.sin()), rtol=1e-5, atol=1e-6)


def test_a_cell_trains_by_our_optimizer() -> None:
    cell = ms.nn.Dense(3, 1)
    module = as_module(cell)
    before = cell.weight.asnumpy().copy()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.5)
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    np.testing.assert_allclose(cell.weight.asnumpy(), before - 1.0, rtol=1e-6)


def test_our_module_as_a_cell_trains_by_mindspores_optimizer(tmp_path) -> None:
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 2)
    start = module.weight.detach().clone()
    cell = as_cell(module)
    assert [p.name for p in cell.trainable_params()] == ["weight", "bias"]
    x = ms.Tensor(np.ones((4, 3), np.float32))
    step = ms.value_and_grad(lambda a: cell(a).sum(), None, cell.trainable_params())
    _, grads = step(x)
    np.testing.assert_allclose(grads[0].asnumpy(), np.full((2, 3), 4.0))
    ms.nn.SGD(cell.trainable_params(), learning_rate=0.25)(grads)
    np.testing.assert_allclose(module.weight.asnumpy(), start.numpy() - 1.0, rtol=1e-6)
    ms.save_checkpoint(cell, str(tmp_path / "m.ckpt"))
    saved = ms.load_checkpoint(str(tmp_path / "m.ckpt"))
    np.testing.assert_array_equal(saved["weight"].asnumpy(), module.weight.asnumpy())


def test_a_cast_tells_where_a_gradient_ends() -> None:
    x = torch.ones(2, device="mindspore", requires_grad=True)
    with pytest.warns(RuntimeWarning, match="gradient ends.*as_module"):
        cast_to_ms_tensor([x * 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cast_to_ms_tensor(x.detach())
        with torch.no_grad():
            cast_to_ms_tensor(x)
        as_module(ms.ops.sin)(x).sum().backward()
