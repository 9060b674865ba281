"""Autograd: the programs of autograd_cases under PyTorch and under us, and what only we can be asked."""

from __future__ import annotations

import warnings

import pytest
from autograd_cases import CASES

import ms_adapter.pytorch as ours


@pytest.mark.parametrize("program", CASES, ids=lambda program: program.__name__)
def test_same_answer_as_pytorch(program):
    torch = pytest.importorskip("torch")
    assert program(ours) == program(torch)


def test_anomaly_mode_names_the_forward_line():
    z = ours.zeros(2, requires_grad=True)
    with warnings.catch_warnings(record=True) as caught, ours.autograd.detect_anomaly():
        warnings.simplefilter("always")
        y = (z / z).sum()  # the line to be found
        with pytest.raises(RuntimeError, match="'DivBackward0' returned nan values in its 1th output"):
            y.backward()
    assert any("the line to be found" in str(w.message) for w in caught)


def test_an_error_in_backward_leaves_the_graph_usable():
    class Sometimes(ours.autograd.Function):
        fail = True

        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            if Sometimes.fail:
                raise ValueError("not now")
            return g

    a = ours.ones(2, requires_grad=True)
    y = (Sometimes.apply(a) + a).sum()
    with pytest.raises(ValueError, match="not now"):
        y.backward()
    a.grad, Sometimes.fail = None, False
    y.backward()
    assert a.grad.tolist() == [2.0, 2.0]


def test_a_long_chain_is_freed_without_recursion():
    y = ours.ones(1, requires_grad=True)
    for _ in range(200_000):
        y = y + 1
    y.backward()
    del y


def test_ten_thousand_steps_keep_no_memory():
    import resource

    w = ours.ones(8, 8, requires_grad=True)

    def train(steps):
        for _ in range(steps):
            w.grad = None
            (w * w).sum().backward()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = train(500)
    assert train(10_000) - before < 2_000  # KiB
