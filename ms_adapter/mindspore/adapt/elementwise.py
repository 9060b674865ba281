"""Elementwise callables: operands get the dtype that PyTorch's promotion gives them, results its
exactness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._package import dtype_pairs, mindspore
from . import adapter
from .values import FLOATS, HALVES, Value, cast, formula, is_tensor, name_of, rounded, theirs, where


def common_dtype(args: tuple[Any, ...]) -> Any:
    """The dtype in which tensors and numbers meet."""
    from ms_adapter import pytorch as torch

    operands = [
        torch.empty((1,) * min(a.ndim, 1), dtype=getattr(torch, name_of(a.dtype)), device="meta")
        if is_tensor(a)
        else a
        for a in args
    ]
    dtype = operands[0].dtype if len(operands) == 1 else torch.result_type(*operands[:2])
    return dict(dtype_pairs())[str(dtype).removeprefix("torch.")]


def operand_dtype(out: Any, args: tuple[Any, ...]) -> Any:
    """What the operands are cast to: the result's dtype, or their common one for a result of bools."""
    dtype = out[0][1]
    return common_dtype(args) if dtype == mindspore().bool_ else dtype


@adapter(direct=True)
def promoted(function: Any, out: Any, *args: Any) -> Any:
    """All operands in the result's dtype; halves compute in float32, as in PyTorch."""
    dtype = operand_dtype(out, args)
    work = theirs("float32") if name_of(dtype) in HALVES else dtype
    return cast(function(*(cast(a, work) for a in args)), out[0][1])


@adapter()
def wide(function: Any, out: Any, *args: Any) -> Any:
    """Computed in float64: MindSpore's float32 loops are approximations, or take tiny numbers for zero."""
    dtype = out[0][1]
    work = theirs("float64") if name_of(dtype) in (*HALVES, "float32") else dtype
    return cast(function(*(cast(rounded(a, dtype), work) for a in args)), dtype)


@adapter()
def as_ints(function: Any, out: Any, *args: Any) -> Any:
    """Integers and bools as int64, for callables that take no narrow ones."""
    dtype = operand_dtype(out, args)
    name = name_of(dtype)
    work = theirs("float32" if name in HALVES else "int64") if name not in ("float32", "float64") else dtype
    return cast(function(*(cast(a, work) for a in args)), out[0][1])


@adapter(direct=True)
def scaled(function: Any, out: Any, a: Any, b: Any, alpha: Any = 1) -> Any:
    """add and sub: the second operand times alpha."""
    dtype = out[0][1]
    work = theirs("float32") if name_of(dtype) in HALVES else dtype
    b = cast(b, work)
    if alpha != 1:
        b = mindspore().ops.mul(b, cast(alpha, work))
    return cast(function(cast(a, work), b), dtype)


@adapter()
def reversed_scaled(function: Any, out: Any, a: Any, b: Any, alpha: Any = 1) -> Any:
    """rsub: other - alpha * input."""
    return scaled(function, out, b, a, alpha)


@adapter(direct=True)
def divided(function: Any, out: Any, a: Any, b: Any) -> Any:
    """div: by a zero the result has the sign of both, which MindSpore's does not look at."""
    dtype = out[0][1]
    if name_of(dtype).startswith("complex"):
        return function(cast(a, dtype), cast(b, dtype))
    x, y = (Value(cast(rounded(v, dtype), theirs("float64"))) for v in (a, b))
    return cast(where(y.same(0.0), x * y.reciprocal(), Value(function(x.t, y.t))).t, dtype)


@adapter(direct=True)
def nan_kept(function: Any, out: Any, *args: Any) -> Any:
    """What drops NaN there keeps it here."""
    dtype = out[0][1]
    values = [Value(cast(a, dtype)) for a in args]
    result = Value(function(*(v.t for v in values)))
    if not mindspore().ops.is_floating_point(result.t):
        return result.t
    for v in values:
        result = where(v.differs(v), v + result, result)
    return result.t


@formula
def plain_min(f: Any, a: Any, b: Any) -> Value:
    """fmin by fmax: the least is minus the greatest of the negatives."""
    return -f(-a, -b)


@adapter()
def flipped_bits(function: Any, out: Any, a: Any) -> Any:
    """bitwise_not; of bools the logical one."""
    return mindspore().ops.logical_not(a) if a.dtype == theirs("bool") else function(a)


@formula
def quotient_down(f: Any, a: Any, b: Any) -> Value:
    """floor_divide as Python's: by the remainder, so that 1 // 0.1 is 9."""
    a, b = _pair(a, b)
    if "int" in name_of(a.t.dtype):
        return _divided_ints(a, b)[0]
    rest = _float_rest(a, b)
    q = (a - rest) / b
    q = where(rest.differs(0.0) & ((rest < 0.0).differs(b < 0.0)), q - 1.0, q)
    down = q.floor()
    down = where((q - down) > 0.5, down + 1.0, down)
    return where(b.same(0.0), a * b.reciprocal(), where(q.same(0.0), (a / b) * 0.0, down))


def _divided_ints(a: Value, b: Value) -> tuple[Value, Value]:
    """The quotient rounded down and its rest. MindSpore divides integers as floats: what that leaves is
    divided again, and the last bit mended."""
    divisors = b.t.asnumpy()
    if hasattr(divisors, "require_nonzero"):  # in a graph
        divisors.require_nonzero()
    elif not divisors.all():
        raise ZeroDivisionError("division by zero is an error on cpu")
    q = a.with_other("floor_div", b)
    for _ in range(2):
        q = q + (a - q * b).with_other("floor_div", b)
    rest = a - q * b
    below = rest.differs(0) & ((rest < 0).differs(b < 0))
    q, rest = where(below, q - 1, q), where(below, rest + b, rest)
    above = ((b > 0) & (rest >= b)) | ((b < 0) & (rest <= b))
    return where(above, q + 1, q), where(above, rest - b, rest)


_SPLIT = 134217729.0  # 2 ** 27 + 1: splits a float64 into halves whose products are exact


def _float_rest(a: Value, b: Value) -> Value:
    """fmod of floats without rounding: MindSpore's subtracts a rounded product. The product's error is taken
    along; where the quotient has more bits than a float, or something is not finite, it stays as it is."""
    theirs_rest, q = a.fmod(b.t), (a / b).trunc()
    p = q * b
    (q1, q2), (b1, b2) = _halves(q), _halves(b)
    r = (a - p) - (((q1 * b1 - p) + q1 * b2 + q2 * b1) + q2 * b2)
    size = where(a < 0.0, -b.abs(), b.abs())
    r = where(r.differs(0.0) & ((r < 0.0).differs(a < 0.0)), r + size, r)
    r = where(r.abs() >= b.abs(), r - size, r)
    r = where(r.same(0.0), a * 0.0, r)
    return where((q.abs() < 2.0**52) & r.same(r), r, theirs_rest)


def _halves(x: Value) -> tuple[Value, Value]:
    c = x * _SPLIT
    high = c - (c - x)
    return high, x - high


def _pair(a: Any, b: Any) -> tuple[Value, Value]:
    like = a if isinstance(a, Value) else b
    return Value(like.lifted(a)), Value(like.lifted(b))


@formula
def lerp(f: Any, a: Any, b: Any, w: Any) -> Value:
    """lerp: from the end that is nearer, as in PyTorch."""
    _, w = _pair(a, w)
    return where(w.abs() < 0.5, a + f(w, b - a), b - f(b - a, 1.0 - w))


@formula
def plus_product(f: Any, a: Any, b: Any, c: Any, value: Any = 1) -> Value:
    """addcmul"""
    return a + (f(b, c) if value == 1 else f(b, c) * value)


@formula
def plus_quotient(f: Any, a: Any, b: Any, c: Any, value: Any = 1) -> Value:
    """addcdiv"""
    return a + (f(b, c) if value == 1 else f(b * value, c))


@adapter()
def selected(function: Any, out: Any, condition: Any, a: Any, b: Any) -> Any:
    """where"""
    dtype = out[0][1]
    return function(cast(condition, theirs("bool")), cast(a, dtype), cast(b, dtype))


@adapter()
def filled(function: Any, out: Any, a: Any, mask: Any, value: Any) -> Any:
    """masked_fill by where"""
    dtype = out[0][1]
    return function(mask, cast(value, dtype), cast(a, dtype))


@formula
def at_least(f: Any, a: Any, low: Any) -> Value:
    """clamp_min; NaN of either stays."""
    return _bounded(f, a, low, None)


@formula
def at_most(f: Any, a: Any, high: Any) -> Value:
    """clamp_max"""
    return _bounded(f, a, None, high)


@formula
def between(f: Any, a: Any, low: Any, high: Any) -> Value:
    """clamp"""
    return _bounded(f, a, low, high)


def _bounded(f: Any, a: Value, low: Any, high: Any) -> Value:
    for bound, below in ((low, True), (high, False)):
        if bound is None:
            continue
        _, b = _pair(a, bound)
        beyond = (a < b) if below else (a > b)
        a = f(beyond | b.differs(b), b, a)
    return a


@adapter()
def sign_bit(function: Any, out: Any, a: Any) -> Any:
    """signbit: a zero's sign shows in its reciprocal."""
    if name_of(a.dtype) not in ("float16", "bfloat16", "float32", "float64"):
        return mindspore().ops.less(a, cast(0, a.dtype))
    x = Value(cast(a, theirs("float64")))
    return (Value(function(x.t)) | (x.same(0.0) & (x.reciprocal() < 0.0))).t


@formula
def sign_taken(f: Any, a: Any, b: Any) -> Value:
    """copysign, with the sign of zeros."""
    a, b = _pair(a, b)
    negative = (b < 0.0) | (b.same(0.0) & (b.reciprocal() < 0.0))
    return f(negative, -a.abs(), a.abs())


@formula
def times_log(f: Any, a: Any, b: Any) -> Value:
    """xlogy: 0 where the first is 0, unless the second is NaN."""
    a, b = _pair(a, b)
    return where(a.same(0.0) & b.same(b), 0.0, a * f(b))


@formula
def log_of_sum(f: Any, a: Any, b: Any) -> Value:
    """logaddexp; of equal infinities it is that infinity."""
    small = f((-(a - b).abs()).exp())
    return where(a.same(b) & a.abs().same(math.inf), a, where(a < b, b, a) + small)


@formula
def log2_of_sum(f: Any, a: Any, b: Any) -> Value:
    """logaddexp2"""
    small = f((-(a - b).abs() * math.log(2.0)).exp()) / math.log(2.0)
    return where(a.same(b) & a.abs().same(math.inf), a, where(a < b, b, a) + small)


@formula
def step(f: Any, a: Any, b: Any) -> Value:
    """heaviside"""
    return f(a.same(0), b, Value(cast((a > 0).t, a.t.dtype)))


@adapter()
def finite(function: Any, out: Any, a: Any) -> Any:
    """isinf and the like: no integer is infinite."""
    name = name_of(a.dtype)
    if name.startswith("complex"):
        return NotImplemented
    if name not in FLOATS:
        return mindspore().ops.not_equal(a, a)
    return function(cast(a, theirs("float32")) if name == "bfloat16" else a)


@formula
def angle(f: Any, x: Any) -> Value:
    """The angle of real numbers: pi below zero; NaN stays."""
    return f(x.differs(x), x, f(x < 0.0, x.full_like(math.pi), x.zeros_like()))


@formula
def floored_rest(f: Any, a: Any, b: Any) -> Value:
    """remainder: fmod moved to the divisor's sign."""
    a, b = _pair(a, b)
    if "int" in name_of(a.t.dtype):
        return _divided_ints(a, b)[1]
    rest = where(b.abs().same(math.inf) & (a.abs() < math.inf), a, _float_rest(a, b))
    return where(rest.differs(0) & ((rest < 0).differs(b < 0)), rest + b, rest)


@formula
def rest(f: Any, a: Any, b: Any) -> Value:
    """fmod"""
    a, b = _pair(a, b)
    if "int" in name_of(a.t.dtype):
        down = _divided_ints(a, b)[1]
        return where(down.differs(0) & ((a < 0).differs(b < 0)), down - b, down)
    return where(b.abs().same(math.inf) & (a.abs() < math.inf), a, _float_rest(a, b))


@formula
def ratio_towards_zero(f: Any, a: Any, b: Any) -> Value:
    """div with rounding_mode="trunc" """
    a, b = _pair(a, b)
    if "int" in name_of(a.t.dtype):
        q, down = _divided_ints(a, b)
        return where(down.differs(0) & ((a < 0).differs(b < 0)), q + 1, q)
    return f(a / b)


@formula
def number_for_nan(f: Any, x: Any, nan: Any, high: Any, low: Any) -> Value:
    """nan_to_num, the three numbers given."""
    x = f(x.differs(x), x.full_like(nan), x)
    x = f(x.same(math.inf), x.full_like(high), x)
    return f(x.same(-math.inf), x.full_like(low), x)


@adapter()
def shifted(function: Any, out: Any, a: Any, b: Any) -> Any:
    """Shifts by what the dtype has bits for."""
    dtype = out[0][1]
    bits = np.iinfo(name_of(dtype)).bits
    a, b = cast(a, dtype), cast(b, dtype)
    by = b.asnumpy()
    if by.size and (int(by.min()) < 0 or int(by.max()) >= bits):
        return NotImplemented
    work = theirs("int64")
    return cast(function(cast(a, work), cast(b, work)), dtype)
