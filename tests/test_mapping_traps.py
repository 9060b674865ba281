"""The calls that `conformance.mapping` makes up: each kind of trap from a sample that has it in it."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch.testing._internal.opinfo.core import SampleInput  # noqa: E402

from conformance.mapping import traps  # noqa: E402


def made(*args, **kwargs):
    """The variants of a sample: (kind, arguments)."""
    sample = SampleInput(args[0], args=args[1:], kwargs=kwargs)
    return [(kind, (s.input, *s.args), s.kwargs) for kind, s in traps.variants(sample)]


def test_edges():
    found = made(torch.ones(5), torch.ones(5))
    special = [args for kind, args, _ in found if kind == traps.EDGE]
    assert torch.isnan(special[0][0][0]) and torch.signbit(special[0][0][3]) and special[0][0][4] == 1
    assert torch.isnan(special[0][1][0]) and not torch.isnan(special[1][1][0])  # both operands, one of them
    assert special[2][0].shape == special[2][1].shape == (0,)
    assert [len(args) for args in special][3:] == [1]  # reduced as a whole


def test_operands_of_two_dtypes():
    kinds = {kind: args for kind, args, _ in made(torch.ones(5), torch.ones(5))}
    assert kinds[traps.MIXED][1].dtype == torch.int64
    assert traps.MIXED not in {kind for kind, *_ in made(torch.ones(5), torch.tensor(1.0))}


def test_the_same_said_otherwise():
    (found,) = made((2, 3))
    assert found == (traps.FORM, (2, 3), {})
    assert (traps.FORM, ((2,), 1.5), {}) in made((2,), 1.5, dtype=torch.float32)
