"""torch.testing._internal's test case: equal up to a tolerance, through containers."""

import pytest

import ms_adapter.pytorch as torch
from ms_adapter.pytorch.testing._internal.common_utils import TestCase

EQUAL = [
    (torch.ones(2), torch.ones(2) + 1e-7),
    ({"a": [torch.zeros(2), "b"]}, {"a": [torch.zeros(2), "b"]}),
    (torch.tensor(float("nan")), torch.tensor(float("nan"))),
    (torch.tensor([2.0]), 2.0),
    ((1, None), [1, None]),
]
DIFFERENT = [
    (torch.ones(2), torch.ones(2) + 1e-3),
    ({"a": 1}, {"b": 1}),
    ([1, 2], [1]),
    (torch.ones(2), torch.ones(2).double()),
    ("a", "b"),
]


@pytest.mark.parametrize("pair", EQUAL, ids=repr)
def test_equal(pair):
    TestCase().assertEqual(*pair)


@pytest.mark.parametrize("pair", DIFFERENT, ids=repr)
def test_different(pair):
    with pytest.raises(AssertionError):
        TestCase().assertEqual(*pair)


def test_tolerance():
    TestCase().assertEqual(torch.ones(2), torch.ones(2) + 1e-3, atol=1e-2, rtol=0)
