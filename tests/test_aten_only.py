"""Operators that only torch.ops.aten has: the parts of a convolution, and names that say what is missing."""

from __future__ import annotations

import itertools

import pytest

import ms_adapter.pytorch as torch

SETTINGS = ([2, 1], [1, 0], [1, 1], False, [0, 0], 2)


@pytest.mark.parametrize("mask", list(itertools.product((True, False), repeat=3)))
def test_the_gradients_of_a_convolution_are_those_of_backward(mask: tuple[bool, bool, bool]) -> None:
    torch.manual_seed(0)
    shapes = ((2, 4, 6, 6), (6, 2, 3, 3), (6,))
    leaves = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in shapes]
    output = torch.ops.aten._convolution(*leaves, *SETTINGS, False, False, True, True)
    assert torch.equal(output, torch.convolution(*leaves, *SETTINGS))
    slope = torch.randn_like(output)
    output.backward(slope)
    got = torch.ops.aten.convolution_backward(slope, *leaves[:2], [6], *SETTINGS, mask)
    for leaf, gradient, asked in zip(leaves, got, mask, strict=True):
        assert torch.allclose(gradient, leaf.grad, atol=1e-12) if asked else gradient is None


def test_names_of_what_is_missing_can_be_taken_and_raise_when_called() -> None:
    with pytest.raises(NotImplementedError, match="quantized tensors are not supported"):
        torch.ops.quantized.conv2d(torch.ones(1))
    with pytest.raises(NotImplementedError, match="scaled_dot_product_attention runs"):
        torch.ops.aten._scaled_dot_product_flash_attention(torch.ones(1))
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        torch.ops.quantized.other  # noqa: B018 - taking the name is the test
