"""`convert_tensor`: tensors of PyTorch as ours, over the same memory, or a clear error."""

import numpy as np
import pytest
import torch as real

import ms_adapter.pytorch as torch
from ms_adapter.mindspore import convert_tensor

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "int64", "float16", "bfloat16", "float32",
          "float64", "complex64", "complex128", "float8_e4m3fn")  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", ((), (0,), (2, 3)))
def test_dtype_values_and_memory(dtype, shape):
    theirs = real.ones(shape).to(getattr(real, dtype))
    ours = convert_tensor(theirs)
    assert isinstance(ours, torch.Tensor) and ours.dtype == getattr(torch, dtype) and ours.shape == shape
    wide = "complex128" if "complex" in dtype else "float64"
    assert ours.to(getattr(torch, wide)).tolist() == theirs.to(getattr(real, wide)).tolist()
    if theirs.numel():
        assert ours.data_ptr() == theirs.data_ptr()


@pytest.mark.parametrize("dtype", ("float32", "bool"))
def test_views_keep_their_strides(dtype):
    base = real.tensor([[0, 1, 0], [1, 1, 0]]).to(getattr(real, dtype))
    for theirs in (base.t(), base[:, ::2], base[1:], base[:, 1]):
        ours = convert_tensor(theirs)
        assert ours.stride() == theirs.stride() and ours.tolist() == theirs.tolist()
        theirs.fill_(1)
        assert ours.tolist() == theirs.tolist()


def test_what_waits_is_computed():
    z = real.tensor([1 + 2j, 3 - 1j])
    assert convert_tensor(z.conj()).tolist() == [1 - 2j, 3 + 1j]
    assert convert_tensor(z.conj().imag).tolist() == [-2.0, 1.0]


def test_gradients_are_wanted_as_before():
    weight = real.nn.Parameter(real.tensor([1.0, 2.0]))
    ours = convert_tensor(weight)
    (ours * ours).sum().backward()
    np.testing.assert_array_equal(ours.grad.numpy(), [2.0, 4.0])
    assert weight.grad is None and not convert_tensor(real.ones(1)).requires_grad
    assert convert_tensor(weight * 2).is_leaf


@pytest.mark.parametrize("wrong", (1.0, [1.0], np.ones(2), torch.ones(2), None))
def test_only_pytorchs_tensors_are_taken(wrong):
    with pytest.raises(TypeError, match=f"a tensor of PyTorch is wanted, got {type(wrong).__name__}"):
        convert_tensor(wrong)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("kind", ("torch.sparse_coo", "meta", "torch.bits8"))
def test_what_cannot_be_taken_over_is_told(kind):
    made = {"torch.sparse_coo": lambda: real.ones(3).to_sparse(), "meta": lambda: real.ones(2, device="meta"),
            "torch.bits8": lambda: real.zeros(2, dtype=real.uint8).view(real.bits8)}  # fmt: skip
    with pytest.raises(TypeError, match=rf"convert_tensor: .*{kind}.* cannot be taken over"):
        convert_tensor(made[kind]())
