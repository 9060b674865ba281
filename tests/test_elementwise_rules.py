"""The elementwise runner's rules against PyTorch: promotion of every pair, strides of results, refusals."""

from __future__ import annotations

import itertools
import random
from functools import partial

import pytest

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch")

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128"]  # fmt: skip
NUMBERS = {"bool": True, "int64": 2, "float32": 2.5, "complex64": 1 + 2j}


def operand(lib, dtype: str, kind: str):
    """`kind`: a vector, a 0-d tensor, or a Python number."""
    if kind == "number":
        return NUMBERS[dtype]
    return lib.ones([2] if kind == "vector" else [], dtype=getattr(lib, dtype))


def kinds(dtype: str) -> list[str]:
    return ["vector", "scalar", *(["number"] if dtype in NUMBERS else [])]


def outcome(call):
    """What a call gives, in plain values: dtype, shape, strides and elements, or the error's type."""
    try:
        t = call()
    except Exception as err:  # noqa: BLE001 - any error is an answer here
        return type(err).__name__
    return str(t.dtype).rpartition(".")[2], tuple(t.shape), tuple(t.stride()), t.tolist()


@pytest.mark.parametrize("first", DTYPES)
def test_promotion_is_pytorchs(first):
    for second, kind, other in itertools.product(DTYPES, kinds(first), ("vector", "scalar", "number")):
        if kind == other == "number" or other not in kinds(second):
            continue
        expected = torch.result_type(operand(torch, first, kind), operand(torch, second, other))
        got = operand(ours, first, kind) * operand(ours, second, other)
        assert str(got.dtype) == str(expected), (first, kind, second, other)


def layout(choose: random.Random, sizes: list[int]):
    """A function of the library that gives ones of these sizes in some permuted, perhaps strided memory."""
    order = choose.sample(range(len(sizes)), len(sizes))
    back = [order.index(d) for d in range(len(sizes))]
    step = 2 if sizes and choose.random() < 0.3 else 1

    def make(lib):
        stored = [sizes[d] for d in order]
        if not stored:
            return lib.ones([])
        stored[-1] *= step
        return lib.ones(stored)[..., ::step].permute(back)

    return make


PROGRAMS = [lambda a, b: a + b, lambda a, b: a.exp(), lambda a, b: a.clone(), lambda a, b: a.add_(b)]


@pytest.mark.parametrize("seed", range(8))
def test_results_are_laid_out_as_pytorchs(seed):
    choose = random.Random(seed)
    for _ in range(60):
        sizes = [choose.choice([1, 2, 3]) for _ in range(choose.choice([1, 2, 3, 4]))]
        narrower = [n if choose.random() < 0.7 else 1 for n in sizes][choose.choice([0, 0, 1]) :]
        a, b = layout(choose, sizes), layout(choose, narrower)
        for program in PROGRAMS:
            expected, got = (outcome(partial(program, a(lib), b(lib))) for lib in (torch, ours))
            assert got == expected, (sizes, narrower)


@pytest.mark.parametrize(
    "program",
    [
        lambda t: t.ones(3).add_(t.ones(2, 3)),
        lambda t: t.ones(3, dtype=t.int64).add_(1.5),
        lambda t: t.ones(1).expand(3).add_(1),
        lambda t: (lambda x: x[1:].add_(x[:-1]))(t.ones(5)),
        lambda t: (lambda x: t.add(x[1:], 1, out=x[:-1]))(t.ones(5)),
        lambda t: t.add(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.int32)),
        lambda t: t.ones(3) + t.ones(4),
        lambda t: t.ones(3) + t.ones(3, device="meta"),
    ],
)
def test_refusals_have_pytorchs_type(program):
    assert isinstance(outcome(lambda: program(torch)), str)
    assert outcome(lambda: program(ours)) == outcome(lambda: program(torch))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("number", [0.1, 257, 1e-3])
def test_halves_round_as_pytorchs_do(dtype, number):
    def program(t):
        x = t.arange(1, 40).to(getattr(t, dtype))
        largest = t.maximum(x, t.tensor(number))
        return t.cat([x + number, x - number, x * number, x / number, (x == number).to(x.dtype), largest])

    assert outcome(lambda: program(ours)) == outcome(lambda: program(torch))
