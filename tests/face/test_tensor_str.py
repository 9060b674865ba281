"""repr of tensors: character by character as PyTorch's, over many random ones."""

import numpy
import pytest
import torch

import ms_adapter.pytorch as face

DTYPES = ["float32", "float64", "float16", "complex64", "complex128", "bool"]
DTYPES += ["int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [
    (),
    (0,),
    (0, 3),
    (3, 0, 2),
    (1,),
    (5,),
    (40,),
    (2, 3),
    (3, 30),
    (2, 3, 4),
    (2, 1, 3, 2),
    (1001,),
    (7, 400),
]
SHAPES += [(30, 40), (3, 4, 100), (1, 2000)]
SCALES = [1.0, 1e-6, 1e9, 1e3, 37.0]


def numbers(rng, shape, dtype):
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.integers(0, rng.choice([2, 100, 120]), shape).astype(dtype)
    values = rng.standard_normal(shape) * rng.choice(SCALES)
    style = rng.integers(0, 6)
    if style == 0:
        values = numpy.round(values)
    elif style == 1 and values.size:
        values = numpy.where(
            rng.random(shape) < 0.2, rng.choice([numpy.nan, numpy.inf, -numpy.inf, 0.0]), values
        )
    elif style == 2:
        values = values * rng.choice(SCALES, shape)
    if kind == "c":
        values = values + 1j * numpy.roll(values, 1) * rng.choice([1, -1, 0.001])
    with numpy.errstate(over="ignore", invalid="ignore"):
        return numpy.asarray(values).astype(dtype)


def texts(array, options=None):
    """What both sides print for the same numbers."""
    made = []
    for t in (torch, face):
        t.set_printoptions(**(options or {}))
        try:
            made.append(repr(t.from_numpy(array.copy())))
        finally:
            t.set_printoptions(profile="default")
    return made


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_random_tensors(dtype, shape):
    rng = numpy.random.default_rng(abs(hash((dtype, shape))) % 1000)
    for _ in range(6):
        want, got = texts(numbers(rng, shape, dtype))
        assert got == want


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"precision": 8, "linewidth": 40},
        {"threshold": 5, "edgeitems": 1},
        {"edgeitems": 0, "threshold": 3},
        {"sci_mode": True},
        {"sci_mode": False},
        {"profile": "short"},
        {"profile": "full"},
    ],
    ids=str,
)
def test_options(options):
    rng = numpy.random.default_rng(3)
    for shape in [(4,), (20,), (3, 9), (2, 3, 8), (40, 40)]:
        for dtype in ("float32", "int64", "complex64"):
            want, got = texts(numbers(rng, shape, dtype), options)
            assert got == want


def test_suffixes(both):
    def scenario(t):
        x = t.ones(2, requires_grad=True)
        odd = t.zeros(30, dtype=t.float64, requires_grad=True)
        made = [
            x,
            x.detach(),
            odd,
            x.to(t.bfloat16),
            t.nn.Parameter(t.ones(2, 2)),
            t.empty(2, 3, device="meta"),
        ]
        made += [t.empty(0, dtype=t.int64), t.empty(2, 0, dtype=t.float64), x * 2, (x * 2).sum(), x.double()]
        return [repr(item) for item in made]

    both(scenario)


def test_default_dtype_leaves_no_suffix(both):
    def scenario(t):
        t.set_default_dtype(t.float64)
        try:
            return [repr(t.ones(2)), repr(t.ones(2, dtype=t.float32)), repr(t.ones(1, dtype=t.complex128))]
        finally:
            t.set_default_dtype(t.float32)

    both(scenario)


def test_format_and_str(both):
    def scenario(t):
        value = t.tensor(3.14159)
        return [f"{value:.2f}", f"{value}", str(t.ones(2)), f"{t.ones(2)}", f"{t.tensor(7):>8}"]

    both(scenario)


def test_subclass(both):
    def scenario(t):
        class Mine(t.Tensor):
            pass

        return repr(t.ones(2).as_subclass(Mine))

    both(scenario)
