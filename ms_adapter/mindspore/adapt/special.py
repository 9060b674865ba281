"""Special functions and Fourier transforms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._package import mindspore
from . import adapter
from .values import Value, cast, formula, name_of, theirs, where


@adapter()
def ordinary(function: Any, out: Any, *args: Any) -> Any:
    """In float64, where every operand is finite and none is 0: elsewhere the callable is not exact."""
    operands = [cast(a, theirs("float64")) for a in args]
    if not all((np.isfinite(x) & (x != 0)).all() for x in (a.asnumpy() for a in operands)):
        return NotImplemented
    return cast(function(*operands), out[0][1])


@adapter()
def positive(function: Any, out: Any, *args: Any) -> Any:
    """The same where every operand is above 0."""
    if not all((cast(a, theirs("float64")).asnumpy() > 0).all() for a in args):
        return NotImplemented
    return ordinary(function, out, *args)


@adapter()
def finite_only(function: Any, out: Any, *args: Any) -> Any:
    """In float64, where every operand is finite."""
    operands = [cast(a, theirs("float64")) for a in args]
    if not all(np.isfinite(a.asnumpy()).all() for a in operands):
        return NotImplemented
    return cast(function(*operands), out[0][1])


@adapter()
def single(function: Any, out: Any, *args: Any) -> Any:
    """Results of at most float32's precision: the callable has no more."""
    if name_of(out[0][1]) == "float64":
        return NotImplemented
    return finite_only(function, out, *args)


@adapter()
def erfinv(function: Any, out: Any, x: Any) -> Any:
    """By Newton's steps from MindSpore's approximation, which float64 needs more of than they give."""
    if name_of(out[0][1]) == "float64":
        return NotImplemented
    v = Value(cast(x, theirs("float64")))
    inner = where(v.abs() < 1.0, v, 0.0)
    y = Value(function(inner.t))
    for _ in range(4):
        y = y - (y.erf() - inner) * (y * y).exp() * (0.5 * math.sqrt(math.pi))
    edge = where(v.abs() > 1.0, math.nan, v * math.inf)
    return cast(where(v.abs() < 1.0, y, where(v.differs(v), v, edge)).t, out[0][1])


@formula
def times_log1p(f: Any, a: Any, b: Any) -> Value:
    """xlog1py"""
    like = a if isinstance(a, Value) else b
    a, b = Value(like.lifted(a)), Value(like.lifted(b))
    return where(a.same(0.0) & b.same(b), 0.0, a * f(b))


@formula
def scaled_erfc(f: Any, x: Value) -> Value:
    """erfcx where exp(x * x) neither over- nor underflows; a continued fraction above."""
    small = f(where(x > 5.0, 5.0, x)) * where(x > 5.0, 0.0, x * x).exp()
    y = where(x > 5.0, x, 5.0)
    tail = y
    for k in range(60, 0, -1):
        tail = y + (k / 2.0) / tail
    return where(x > 5.0, (1.0 / math.sqrt(math.pi)) / tail, small)


def _normalized(x: Any, dims: tuple[int, ...], n: int, normalization: int) -> Any:
    if normalization == 0:
        return x
    scale = 1.0 / (math.sqrt(n) if normalization == 1 else n)
    return mindspore().ops.mul(x, cast(scale, x.dtype))


def _transform(x: Any, dims: tuple[int, ...], forward: bool) -> Any:
    """Complex transforms without a factor."""
    ops = mindspore().ops
    for d in dims:
        x = ops.fft(x, None, d, "backward") if forward else ops.ifft(x, None, d, "forward")
    return x


@adapter()
def fft_complex(
    function: Any, out: Any, x: Any, dims: tuple[int, ...], normalization: int, forward: bool
) -> Any:
    if name_of(x.dtype) not in ("complex64", "complex128"):
        return NotImplemented
    y = _transform(cast(x, theirs("complex128")), dims, forward)
    return cast(_normalized(y, dims, math.prod(x.shape[d] for d in dims), normalization), out[0][1])


@adapter()
def fft_of_real(
    function: Any,
    out: Any,
    x: Any,
    dims: tuple[int, ...],
    normalization: int,
    onesided: bool,
    forward: bool = True,
) -> Any:
    ops, wide = mindspore().ops, cast(x, theirs("float64"))
    if onesided:
        y = function(wide, None, dims[-1], "backward")
        y = _transform(y, dims[:-1], True)
    else:
        y = _transform(cast(wide, theirs("complex128")), dims, True)
    y = y if forward else ops.conj(y)
    return cast(_normalized(y, dims, math.prod(x.shape[d] for d in dims), normalization), out[0][1])


@adapter()
def fft_to_real(
    function: Any,
    out: Any,
    x: Any,
    dims: tuple[int, ...],
    normalization: int,
    last: int,
    forward: bool = False,
) -> Any:
    ops, y = mindspore().ops, cast(x, theirs("complex128"))
    y = ops.conj(y) if forward else y
    y = _transform(y, dims[:-1], False)
    y = function(y, last, dims[-1], "forward")
    shape = out[0][0]
    return cast(_normalized(y, dims, math.prod(shape[d] for d in dims), normalization), out[0][1])


@adapter()
def interleaved(function: Any, out: Any, real: Any, imag: Any) -> Any:
    """complex: of two parts."""
    return cast(function()(cast(real, theirs("float64")), cast(imag, theirs("float64"))), out[0][1])


@adapter()
def conjugate(function: Any, out: Any, x: Any) -> Any:
    return function(x) if name_of(x.dtype).startswith("complex") else mindspore().ops.deepcopy(x)


@adapter()
def absolute(function: Any, out: Any, x: Any) -> Any:
    """abs: of complex numbers by their parts, which MindSpore's does not look at."""
    if not name_of(x.dtype).startswith("complex"):
        return function(x)
    ops, x = mindspore().ops, cast(x, theirs("complex128"))
    return cast(ops.hypot(ops.real(x), ops.imag(x)), out[0][1])


def scalar_range(start: Any, step: Any, n: int, dtype: Any) -> Any:
    """start + i * step in float64 or int64, as `dtype`."""
    whole = all(isinstance(v, int) for v in (start, step))
    steps = mindspore().Tensor.from_numpy(np.arange(n, dtype=np.int64 if whole else np.float64))
    v = Value(steps) * step + start
    return cast(v.t, dtype)


@adapter()
def evenly_spaced(function: Any, out: Any, start: Any, end: Any, steps: int, *factory: Any) -> Any:
    """linspace of floats, from the end that is nearer."""
    (shape, dtype) = out[0]
    if "float" not in name_of(dtype) or steps < 1:
        return NotImplemented
    if steps == 1:
        return cast(start, dtype).reshape(1)
    step = (end - start) / (steps - 1)
    places = np.arange(steps, dtype=np.float64)
    front = Value(mindspore().Tensor.from_numpy(places)) * step + start
    back = Value(mindspore().Tensor.from_numpy(places[::-1].copy())) * -step + end
    first = mindspore().Tensor.from_numpy(places < steps // 2)
    return cast(where(Value(first), front, back).t, dtype)


@adapter()
def stepped(function: Any, out: Any, start: Any, end: Any, step: Any = 1, *factory: Any) -> Any:
    """arange"""
    (shape, dtype) = out[0]
    return scalar_range(start, step, shape[0], dtype)


def _at_poles(x: Any) -> bool:
    """Whether an element is infinite, NaN, or one of 0, -1, -2, ..."""
    numbers = cast(x, theirs("float64")).asnumpy()
    return bool((~np.isfinite(numbers) | ((numbers <= 0) & (numbers == np.floor(numbers)))).any())


def _digamma(log: Any, x: Value) -> Value:
    """By its series far from 0, the recurrence down to x, and the reflection for x below 1/2; MindSpore's own
    is exact to 1e-6 alone."""
    low = x < 0.5
    y = where(low, 1.0 - x, x)
    z = y + 10.0
    square = 1.0 / (z * z)
    series = Value(square.lifted(0.0))
    for term in (1 / 132, 1 / 240, 1 / 252, 1 / 120, 1 / 12):
        series = square * (term - series)
    found = Value(log(z.t)) - 0.5 / z - series
    for k in range(10):
        found = found - 1.0 / (y + float(k))
    turn = (x - x.floor()) * math.pi
    return where(low, found - math.pi / where(low, turn, 1.0).tan(), found)


@adapter()
def digamma(function: Any, out: Any, x: Any) -> Any:
    """digamma away from its poles."""
    if _at_poles(x):
        return NotImplemented
    return cast(_digamma(function, Value(cast(x, theirs("float64")))).t, out[0][1])


@adapter()
def polygamma(function: Any, out: Any, x: Any, n: Any) -> Any:
    """The derivatives of digamma, of one order for all elements, away from the poles; the first one not below
    1/2, where PyTorch's is of float32's exactness in float32."""
    orders = n.asnumpy() if hasattr(n, "asnumpy") else np.array(n)
    if not orders.size or orders.min() != orders.max() or _at_poles(x):
        return NotImplemented
    if orders.flat[0] == 1 and float(cast(x, theirs("float64")).asnumpy().min()) < 0.5:
        return NotImplemented
    order = mindspore().Tensor(int(orders.flat[0]), theirs("int64"))
    v = cast(x, theirs("float64"))
    v = function(order, v) if orders.flat[0] else _digamma(mindspore().ops.log, Value(v)).t
    return cast(v, out[0][1])
