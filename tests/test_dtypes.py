"""Dtypes that kernels do not compute with: eight-bit floats, complex32, names of how bytes are read."""

import copy
import itertools
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import ms_adapter.pytorch as ours

FLOAT8 = ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
STORED = [*FLOAT8, "complex32"]
OPAQUE = [
    "float4_e2m1fn_x2",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)),
    *("bits8", "bits16", "bits1x8", "bits2x4", "bits4x2"),
]
COMPUTED = [
    *("bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"),
    *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
]
pytestmark = pytest.mark.filterwarnings("ignore:.*discards the imaginary:UserWarning", "ignore:ComplexHalf")


def both(array: np.ndarray, name: str) -> tuple[Any, Any]:
    """The same bytes as tensors of a dtype of both libraries."""
    raw = np.ascontiguousarray(array).view(np.uint8)
    tensors = []
    for lib in (ours, torch):
        t = lib.from_numpy(raw.copy())
        tensors.append(t.view(getattr(lib, name)))
    return tensors[0], tensors[1]


def raw(t: Any) -> np.ndarray:
    lib = ours if isinstance(t, ours.Tensor) else torch
    return t.contiguous().reshape(-1).view(lib.uint8).numpy()


def outcome(make: Callable[..., Any], *args: Any) -> Any:
    """What a call gives, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return make(*args)
        except Exception as err:  # noqa: BLE001 - any error is an answer here
            return type(err).__name__


def assert_same(got: Any, want: Any, context: Any = None) -> None:
    """Equal bytes but for the payload and sign of NaN."""
    assert str(got.dtype) == str(want.dtype) and tuple(got.shape) == tuple(want.shape), context
    a, b = raw(got), raw(want)
    if np.array_equal(a, b):
        return
    number = torch.complex128 if want.dtype.is_complex else torch.float64
    x = torch.from_numpy(a.copy()).view(want.dtype).to(number)
    y = want.contiguous().reshape(-1).to(number)
    parts = (torch.view_as_real(x), torch.view_as_real(y)) if want.dtype.is_complex else (x, y)
    equal = (parts[0].view(torch.int64) == parts[1].view(torch.int64)) | (parts[0].isnan() & parts[1].isnan())
    wrong = ~equal.reshape(len(x), -1).all(1)
    assert not wrong.any(), (context, x[wrong][:5], y[wrong][:5])


# --- the dtypes themselves ------------------------------------------------------------------------


@pytest.mark.parametrize("name", COMPUTED + STORED + OPAQUE)
def test_what_a_dtype_says(name: str) -> None:
    got, want = getattr(ours, name), getattr(torch, name)
    for question in (
        repr,
        *(lambda d, a=a: getattr(d, a) for a in ("itemsize", "is_floating_point", "is_complex", "is_signed")),
        lambda d: str(d.to_real()),
        lambda d: str(d.to_complex()),
    ):
        assert outcome(question, got) == outcome(question, want), name
    assert pickle.loads(pickle.dumps(got)) is got and copy.deepcopy(got) is got


def test_second_names() -> None:
    assert ours.chalf is ours.complex32 and ours.bit is ours.uint1


@pytest.mark.parametrize("name", COMPUTED + STORED + OPAQUE)
def test_limits(name: str) -> None:
    for which, fields in (
        ("finfo", ("bits", "eps", "max", "min", "tiny", "smallest_normal", "resolution", "dtype")),
        ("iinfo", ("bits", "max", "min", "dtype")),
    ):
        got = outcome(getattr(ours, which), getattr(ours, name))
        want = outcome(getattr(torch, which), getattr(torch, name))
        if isinstance(want, str):
            assert got == want
            continue
        if name == "float4_e2m1fn_x2":  # PyTorch makes a finfo of which nothing can be read
            continue
        assert repr(got) == repr(want)
        assert [getattr(got, f) for f in fields] == [getattr(want, f) for f in fields]


def test_promotion() -> None:
    names = COMPUTED + STORED + ["float4_e2m1fn_x2", "int4", "bits8"]
    for a, b in itertools.product(names, names):
        want = outcome(torch.promote_types, getattr(torch, a), getattr(torch, b))
        got = outcome(ours.promote_types, getattr(ours, a), getattr(ours, b))
        assert str(got) == str(want), (a, b)
    for a, b in itertools.product(COMPUTED + STORED, COMPUTED + STORED):
        want = torch.can_cast(getattr(torch, a), getattr(torch, b))
        assert ours.can_cast(getattr(ours, a), getattr(ours, b)) == want, (a, b)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        ours.ones(2).to(ours.float8_e5m2) + ours.ones(2)


@pytest.mark.parametrize("name", STORED)
def test_no_default(name: str) -> None:
    with pytest.raises(TypeError):
        ours.set_default_dtype(getattr(ours, name))


# --- conversions ----------------------------------------------------------------------------------


def every(name: str) -> np.ndarray:
    """All values of a small dtype, and those of a larger one where rounding and ranges show."""
    size = getattr(torch, name).itemsize
    if name == "bool":
        return np.array([0, 1], np.uint8)
    if size == 1:
        return np.arange(256, dtype=np.uint8)
    if size == 2:
        return np.arange(65536, dtype=np.uint16)
    rng = np.random.default_rng(7)
    if name in ("int32", "uint32", "int64", "uint64"):
        edges = np.array([0, 1, 2, 3, 447, 448, 449, 57344, 65504, 65520, 2**24 + 1, 2**31 - 1], np.int64)
        many = np.concatenate([edges, -edges, rng.integers(-70000, 70000, 4000)])
        return many.astype(name)
    patterns = np.arange(65536, dtype=np.uint32) << 16
    lows = (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
    single = np.concatenate([patterns | low for low in lows]).view(np.float32)
    if name == "complex32":
        return rng.integers(0, 2**32, 20000, dtype=np.uint32)
    with np.errstate(invalid="ignore"):
        wide = single if name == "float32" else single[::7].astype(np.float64) * (1 + 2.0**-40)
    if not name.startswith("complex"):
        return wide
    pairs = np.stack([wide[::5], wide[::-5]], -1).reshape(-1)
    return pairs.astype(np.float32 if name == "complex64" else np.float64)


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("other", COMPUTED + STORED)
def test_conversions_are_pytorchs(name: str, other: str) -> None:
    got, want = both(every(other), other)
    assert_same(got.to(getattr(ours, name)), want.to(getattr(torch, name)), ("to", name, "from", other))
    got, want = both(every(name), name)
    if other.startswith(("int", "uint")):  # what is out of range is undefined there
        limits = torch.iinfo(getattr(torch, other))
        value = want.to(torch.complex128).real
        fits = (value >= max(limits.min, -(2.0**62))) & (value <= min(limits.max, 2.0**62))
        got, want = got[ours.from_numpy(fits.numpy())], want[fits]
    assert_same(got.to(getattr(ours, other)), want.to(getattr(torch, other)), ("from", name, "to", other))


@pytest.mark.parametrize("name", STORED)
def test_strided_copies_convert(name: str) -> None:
    got, want = both(np.arange(240, dtype=np.uint8), name)
    x, y = (t.reshape(-1, 6).t()[1::2] for t in (got, want))
    assert_same(x.contiguous(), y.contiguous())
    number = "complex64" if name == "complex32" else "float32"
    assert_same(x.to(getattr(ours, number)), y.to(getattr(torch, number)))
    z, w = ours.zeros(x.shape, dtype=getattr(ours, name)), torch.zeros(y.shape, dtype=getattr(torch, name))
    z.copy_(x.to(getattr(ours, number)))
    w.copy_(y.to(getattr(torch, number)))
    assert_same(z, w)


VALUES = [0, 1, -1, 1.5, 448, 449, 464.1, -448.5, 240, 241, 57344, 60000, 65504, 65505, 1e5, 2.0**127, 1e39]
VALUES += [-0.0, 2.0**-127, 1e-40, float("inf"), -float("inf"), float("nan"), True, False, 1 + 2j, 2**40]


@pytest.mark.parametrize("name", STORED)
def test_numbers_become_elements(name: str) -> None:
    makers: list[Callable[[Any, Any, Any], Any]] = [
        lambda lib, d, value: lib.full((3,), value, dtype=d),
        lambda lib, d, value: lib.tensor([value, 1], dtype=d),
        lambda lib, d, value: lib.zeros(5, dtype=d)[::2].fill_(value).contiguous(),
    ]
    for make, value in itertools.product(makers, VALUES):
        want = outcome(make, torch, getattr(torch, name), value)
        got = outcome(make, ours, getattr(ours, name), value)
        if isinstance(want, str) or isinstance(got, str):
            assert got == want, (name, value)
        else:
            assert_same(got, want, (name, value))


@pytest.mark.parametrize("name", STORED)
def test_elements_become_numbers(name: str) -> None:
    got, want = both(every(name)[:256], name)
    assert str(got.tolist()) == str(want.tolist())
    for x, y in zip(got[:200:13], want[:200:13]):
        assert str(x.item()) == str(y.item())
        assert outcome(bool, x) == outcome(bool, y)
        assert str(outcome(float, x)) == str(outcome(float, y))


# --- what needs no arithmetic ---------------------------------------------------------------------

MOVES: dict[str, Callable[[Any, Any], Any]] = {
    "clone": lambda lib, t: t.clone(),
    "transpose": lambda lib, t: t.t().contiguous(),
    "select": lambda lib, t: t[1],
    "slice": lambda lib, t: t[:, 1::2],
    "cat": lambda lib, t: lib.cat([t, t[:1]]),
    "stack": lambda lib, t: lib.stack([t, t], 1),
    "flip": lambda lib, t: t.flip(0),
    "roll": lambda lib, t: t.roll(1, 0),
    "index": lambda lib, t: t[lib.tensor([2, 0])],
    "mask": lambda lib, t: t[lib.arange(t.shape[0]) > 0],
    "index_select": lambda lib, t: t.index_select(0, lib.tensor([1, 1])),
    "where": lambda lib, t: lib.where(lib.arange(t.shape[1]) > 1, t, t[:1]),
    "repeat": lambda lib, t: t.repeat(2, 1),
    "expand": lambda lib, t: t[:1].expand(4, -1).contiguous(),
    "new_zeros": lambda lib, t: t.new_zeros(3),
    "zeros_like": lambda lib, t: lib.zeros_like(t),
    "new_ones": lambda lib, t: t.new_ones(3),
    "split": lambda lib, t: t.split(1)[1],
    "bytes": lambda lib, t: t.view(lib.uint8),
    "copy_": lambda lib, t: lib.zeros_like(t).copy_(t),
    "setitem": lambda lib, t: setitem(lib.zeros_like(t), t),
    "unfold": lambda lib, t: t.unfold(1, 2, 1).contiguous(),
    "view": lambda lib, t: t.reshape(-1).view(-1, 2),
    "detach": lambda lib, t: t.detach(),
    "to_itself": lambda lib, t: t.to(t.dtype),
    "eq": lambda lib, t: t == t,
    "ne": lambda lib, t: t != t[:1],
    "isnan": lambda lib, t: lib.isnan(t),
}


def setitem(to: Any, value: Any) -> Any:
    to[1:] = value[1:]
    return to


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("name", STORED)
def test_moves(name: str, move: str) -> None:
    got, want = both(np.arange(3, 51, dtype=np.uint8), name)
    got, want = got.reshape(3, -1), want.reshape(3, -1)
    assert_same(MOVES[move](ours, got), MOVES[move](torch, want), move)


@pytest.mark.parametrize("name", FLOAT8)
def test_comparisons_of_all_codes(name: str) -> None:
    got, want = both(np.arange(256, dtype=np.uint8), name)
    assert_same(got[:, None] == got, want[:, None] == want)
    assert_same(got[:, None] != got, want[:, None] != want)
    assert_same(got == 1.5, want == 1.5)
    assert ours.equal(got[:10], got[:10]) and not ours.equal(got[:10], got[1:11])
    if name != "float8_e8m0fnu":  # PyTorch leaves the sign of -0.0
        keep = [code for code in range(256) if code != 0x80]
        assert_same(got[keep].abs(), want[keep].abs())


@pytest.mark.parametrize(
    "refused",
    [
        *(lambda t: t + 1, lambda t: t * 2, lambda t: -t, lambda t: t.sum(), lambda t: t.sort()),
        *(lambda t: t.max(), lambda t: t.exp(), lambda t: t.cumsum(0), lambda t: t.argmax(), lambda t: t / 2),
    ],
)
@pytest.mark.parametrize("name", FLOAT8)
def test_arithmetic_is_refused(name: str, refused: Callable[[Any], Any]) -> None:
    for lib in (torch, ours):
        t = lib.ones(4).to(getattr(lib, name))
        with pytest.raises(NotImplementedError, match=rf"not implemented for '{name.capitalize()}'"):
            refused(t)


@pytest.mark.parametrize("name", STORED)
def test_text(name: str) -> None:
    for start in (0, 40, 100):
        got, want = both(np.arange(start, start + 24, dtype=np.uint8), name)
        assert repr(got) == repr(want) and repr(got.reshape(2, -1)) == repr(want.reshape(2, -1))
    for lib_values in ([1.0, 2.0], [0.0], [1.5, 0.25], []):
        assert repr(ours.tensor(lib_values, dtype=getattr(ours, name))) == repr(
            torch.tensor(lib_values, dtype=getattr(torch, name))
        )
    assert ours.ones(1, dtype=getattr(ours, name)).type() == torch.ones(1, dtype=getattr(torch, name)).type()


@pytest.mark.parametrize("name", STORED + OPAQUE)
def test_numpy_has_none_of_them(name: str) -> None:
    for lib in (torch, ours):
        with pytest.raises(TypeError, match="Got unsupported ScalarType"):
            lib.zeros(4, dtype=getattr(lib, name)).numpy()


@pytest.mark.parametrize("name", STORED)
def test_dlpack_both_ways(name: str) -> None:
    got, want = both(np.arange(16, dtype=np.uint8), name)
    assert_same(ours.from_dlpack(want), want)
    assert_same(torch.from_dlpack(got), want)


@pytest.mark.parametrize("name", STORED)
def test_views_of_bytes(name: str) -> None:
    d = getattr(ours, name)
    t = ours.arange(16, dtype=ours.uint8).view(4, 4)
    assert t.view(d).view(ours.uint8).tolist() == t.tolist()
    assert t.view(d).data_ptr() == t.data_ptr()
    assert t.view(d).element_size() == d.itemsize


# --- complex32 ------------------------------------------------------------------------------------

COMPLEX: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda lib, a, b: a + b,
    "sub": lambda lib, a, b: a - b,
    "mul": lambda lib, a, b: a * b,
    "mul_number": lambda lib, a, b: a * 0.3,
    "neg": lambda lib, a, b: -a,
    "abs": lambda lib, a, b: a.abs(),
    "real": lambda lib, a, b: a.real,
    "imag": lambda lib, a, b: a.imag.contiguous(),
    "conj": lambda lib, a, b: a.conj().resolve_conj(),
    "half_times_complex": lambda lib, a, b: a.real.contiguous() * 1j,
    "with_float": lambda lib, a, b: a + lib.ones(1),
    "sum_of_wide": lambda lib, a, b: a.to(lib.complex64).sum(),
    "complex": lambda lib, a, b: lib.complex(a.real.contiguous(), b.imag.contiguous()),
    "view_as_real": lambda lib, a, b: lib.view_as_real(a),
    "view_as_complex": lambda lib, a, b: lib.view_as_complex(lib.view_as_real(b)),
    "chalf": lambda lib, a, b: a.to(lib.complex128).chalf(),
    "nonzero": lambda lib, a, b: (a * 0).nonzero(),
    "index_add": lambda lib, a, b: a.index_add(0, lib.tensor([1, 0, 1]), b[:3]),
}


@pytest.mark.parametrize("what", COMPLEX)
def test_complex32(what: str) -> None:
    rng = np.random.default_rng(3)
    pairs = rng.normal(size=(2, 500, 2)).astype(np.float16)
    (a, x), (b, y) = both(pairs[0].reshape(-1), "complex32"), both(pairs[1].reshape(-1), "complex32")
    assert_same(COMPLEX[what](ours, a, b), COMPLEX[what](torch, x, y), what)


# --- dtypes whose elements nothing reads ----------------------------------------------------------


@pytest.mark.parametrize("name", OPAQUE)
def test_bytes_without_meaning(name: str) -> None:
    d, theirs = getattr(ours, name), getattr(torch, name)
    t = ours.arange(8, dtype=ours.uint8).view(2, 4).view(d)
    want = torch.arange(8, dtype=torch.uint8).view(2, 4).view(theirs)
    assert t.dtype is d and tuple(t.shape) == tuple(want.shape) and t.type() == want.type()
    assert raw(ours.cat([t, t])).tolist() == raw(t).tolist() * 2
    assert ours.zeros(2, 3, dtype=d).untyped_storage().nbytes() == 6 * d.itemsize
    for refused in (
        lambda lib, v: v.to(lib.float32),
        lambda lib, v: lib.ones(2).to(v.dtype),
        lambda lib, v: v.fill_(1),
        lambda lib, v: v.reshape(-1)[0].item(),
        lambda lib, v: v.sum(),
        lambda lib, v: v.sort(),
        lambda lib, v: v.abs(),
    ):
        for lib, value in ((ours, t), (torch, want)):
            with pytest.raises(NotImplementedError, match=f"not implemented for '{want.type()[6:-6]}'"):
                refused(lib, value)
    if name != "float4_e2m1fn_x2":
        assert outcome(repr, t) == outcome(repr, want) == "NotImplementedError"
    else:
        assert repr(t) == repr(want)
