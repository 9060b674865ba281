"""Tensors without data (meta) among others are an error of every kernel, not a crash or a wrong result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ms_adapter.pytorch as torch

F = torch.nn.functional
VALUES, MATRIX, INDEX = torch.ones(5), torch.ones(5, 5), torch.arange(2)
NONE, NO_MATRIX, NO_INDEX = (t.to("meta") for t in (VALUES, MATRIX, INDEX))
CALLS: dict[str, Callable[[], Any]] = {
    "index": lambda: VALUES[NO_INDEX],
    "setitem": lambda: VALUES.clone().__setitem__(NO_INDEX, 1.0),
    "index_select": lambda: VALUES.index_select(0, NO_INDEX),
    "index_add": lambda: VALUES.index_add(0, NO_INDEX, VALUES[:2]),
    "gather": lambda: VALUES.gather(0, NO_INDEX),
    "scatter": lambda: VALUES.scatter(0, NO_INDEX, VALUES),
    "take": lambda: VALUES.take(NO_INDEX),
    "cat": lambda: torch.cat([VALUES, NONE]),
    "stack": lambda: torch.stack([VALUES, NONE]),
    "where": lambda: torch.where(VALUES > 0, VALUES, NONE),
    "add": lambda: VALUES + NONE,
    "mm": lambda: MATRIX @ NO_MATRIX,
    "addmm": lambda: torch.addmm(MATRIX, NO_MATRIX, MATRIX),
    "linear": lambda: torch.nn.Linear(5, 5, device="meta")(MATRIX),
    "conv1d": lambda: F.conv1d(MATRIX[None], NO_MATRIX[None]),
    "embedding": lambda: F.embedding(NO_INDEX, MATRIX),
    "cross_entropy": lambda: F.cross_entropy(MATRIX, NO_INDEX.new_zeros(5)),
    "searchsorted": lambda: torch.searchsorted(VALUES, NONE),
    "layer_norm": lambda: F.layer_norm(VALUES, (5,), NONE),
    "attention": lambda: F.scaled_dot_product_attention(MATRIX[None], NO_MATRIX[None], MATRIX[None]),
    "masked_select": lambda: VALUES.masked_select(NONE > 0),
    "out": lambda: torch.mm(NO_MATRIX, MATRIX, out=torch.empty(5, 5)),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_meta_tensor_among_others_is_refused(name: str) -> None:
    with pytest.raises(RuntimeError, match=r"same device|does not have"):
        CALLS[name]()


def test_what_only_has_a_shape_goes_on() -> None:
    assert NONE[INDEX].shape == (2,) and NONE[INDEX].device.type == "meta"
    assert VALUES[:1].expand_as(NONE).tolist() == [1.0] * 5
    assert NO_MATRIX.copy_(MATRIX).device.type == "meta"


@pytest.mark.parametrize("name", ["empty_like", "zeros_like", "ones_like", "rand_like"])
def test_what_takes_the_form_alone_is_made_on_cpu(name):
    made = getattr(torch, name)(torch.empty(2, 3, device="meta"), device="cpu")
    assert (made.device.type, tuple(made.shape)) == ("cpu", (2, 3))
    assert torch.full_like(torch.empty(2, device="meta"), 7, device="cpu").tolist() == [7, 7]
