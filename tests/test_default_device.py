"""What is made inside of an operator lies where its input lies, whatever the default device is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ms_adapter.pytorch as torch

VALUES = torch.tensor([3, 1, 3])
FIRST = torch.zeros(1, dtype=torch.int64)
CALLS: dict[str, Callable[[], Any]] = {
    "unique": lambda: torch.unique(VALUES, return_counts=True),
    "unique_consecutive": lambda: torch.unique_consecutive(VALUES, return_counts=True),
    "pad_packed": lambda: torch.nn.utils.rnn.pad_packed_sequence(
        torch.nn.utils.rnn.pack_padded_sequence(VALUES.float().view(3, 1), torch.tensor([3], device="cpu"))
    ),
    "masked.sum": lambda: torch.masked.sum(VALUES, mask=VALUES > 1),
    "spdiags": lambda: torch.sparse.spdiags(VALUES[None], FIRST, (3, 3)).to_dense().sum(),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_operator_does_not_mind_the_default_device(name: str) -> None:
    want = CALLS[name]()
    with torch.device("meta"):
        got = CALLS[name]()
    for a, b in zip(*(torch.utils._pytree.tree_leaves(x) for x in (got, want)), strict=True):
        assert a.device.type == "cpu" and torch.equal(a, b)
