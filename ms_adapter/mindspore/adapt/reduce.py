"""Reductions: over any dimensions, of no elements too, in a dtype that loses nothing."""

from __future__ import annotations

import math
from typing import Any

from .._package import mindspore
from . import adapter
from .values import FLOATS, Value, cast, name_of, theirs, where, work_dtype

Axes = tuple[int, ...] | int | None


def axes_of(x: Any, dim: Axes) -> tuple[int, ...]:
    """The dimensions meant, counted from the front; none given are all."""
    if dim is None or dim == ():
        return tuple(range(x.ndim))
    return tuple(sorted(d % max(x.ndim, 1) for d in ((dim,) if isinstance(dim, int) else dim)))


def flat(x: Any, axes: tuple[int, ...]) -> Any:
    """The reduced dimensions as one, the last."""
    ops, kept = mindspore().ops, [d for d in range(x.ndim) if d not in axes]
    shape = [x.shape[d] for d in kept]
    return ops.reshape(ops.transpose(x, (*kept, *axes)), (*shape, math.prod(x.shape[d] for d in axes)))


def filled(out: Any, value: Any) -> Any:
    """The result over no elements."""
    shape, dtype = out
    return mindspore().ops.full(shape, value, dtype=dtype) if shape else cast(value, dtype)


def _reduced(function: Any, out: Any, x: Any, dim: Axes, empty: Any, work: str) -> Any:
    """function(x, axes) where there is something to reduce."""
    axes = axes_of(x, dim)
    if 0 in x.shape:
        return filled(out, empty)
    ops = mindspore().ops
    x = cast(x, theirs(work))
    result = function(x, axes) if axes else x
    return cast(ops.reshape(result, out[0]), out[1])


@adapter(empty=True)
def total(function: Any, out: Any, x: Any, dim: Axes = None, keepdim: bool = False, dtype: Any = None) -> Any:
    """sum: integers in int64, floats in float64."""
    return _reduced(_summing(function, x), out[0], x, dim, 0, work_dtype(name_of(out[0][1])))


def _summing(function: Any, x: Any) -> Any:
    """How to sum: MindSpore's adds integers as floats, and great ones lose bits; its running sums do not."""
    if name_of(x.dtype) != "int64":
        return function

    def last(x: Any, axes: tuple[int, ...]) -> Any:
        sums = mindspore().ops.cumsum(flat(x, axes), -1)
        return sums[(*(slice(None) for _ in sums.shape[:-1]), -1)]

    return last


@adapter(empty=True)
def whole(function: Any, out: Any, x: Any, dtype: Any = None) -> Any:
    """sum and prod of all elements."""
    empty = 1 if "prod" in getattr(function, "__name__", "") else 0
    return _reduced(
        function if empty else _summing(function, x), out[0], x, None, empty, work_dtype(name_of(out[0][1]))
    )


@adapter(empty=True, lift=True)
def product(function: Any, out: Any, x: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """prod along one dimension, or of all elements where no dimension is given."""
    axes = None if dim is None or not isinstance(dim, int) else dim
    return _reduced(lambda a, d: _product(a, d), out[0], x, axes, 1, work_dtype(name_of(out[0][1])))


def _product(x: Any, axes: tuple[int, ...]) -> Any:
    return mindspore().ops.prod(flat(x, axes), -1)


@adapter(empty=True)
def total_without_nan(
    function: Any, out: Any, x: Any, dim: Axes = None, keepdim: bool = False, dtype: Any = None
) -> Any:
    """nansum"""
    if 0 not in x.shape and name_of(x.dtype) in FLOATS:
        v = Value(cast(x, theirs("float64")))
        x = where(v.differs(v), 0.0, v).t
    return _reduced(function, out[0], x, dim, 0, work_dtype(name_of(out[0][1])))


@adapter(empty=True)
def average(function: Any, out: Any, x: Any, dim: Any = None, keepdim: Any = False, dtype: Any = None) -> Any:
    """mean, also of all elements where `dim` is no dimension."""
    dim = dim if isinstance(dim, (int, tuple)) else None
    return _reduced(function, out[0], x, dim, math.nan, work_dtype(name_of(out[0][1])))


@adapter(empty=True)
def truth(function: Any, out: Any, x: Any, dim: Axes = None, keepdim: bool = False) -> Any:
    """any and all"""
    ops, axes = mindspore().ops, axes_of(x, dim)
    is_all = function is ops.ReduceAll or "all" in str(getattr(function, "__name__", "")).lower()
    dtype = out[0][1]
    if 0 in x.shape:
        return filled(out[0], is_all)
    x = x if x.dtype == theirs("bool") else ops.not_equal(x, cast(0, x.dtype))
    result = function(flat(x, axes), -1) if axes else x
    return cast(ops.reshape(result, out[0][0]), dtype)


@adapter(lift=True)
def extreme(function: Any, out: Any, x: Any, dim: Axes = None, keepdim: bool = False) -> Any:
    """amax, amin and max, min of all: NaN is the extreme where there is one."""
    ops, axes = mindspore().ops, axes_of(x, dim)
    shape, dtype = out[0]
    floating = name_of(x.dtype) in FLOATS
    work = cast(x, theirs("float64" if floating else "int64")) if x.dtype != theirs("float64") else x
    if not axes:
        return ops.reshape(x, shape) + cast(0, dtype) if x.dtype != theirs("bool") else NotImplemented
    work = flat(work, axes)
    result = Value(function(work, -1))
    if floating:
        result = result + Value(ops.sum(where(Value(work).differs(Value(work)), Value(work), 0.0).t, -1))
    return cast(ops.reshape(result.t, shape), dtype)


@adapter(lift=True)
def place_of_extreme(function: Any, out: Any, x: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """argmax and argmin: the first of equals, the first NaN before all."""
    values, place = _extreme_and_place(function, x, axes_of(x, dim))
    return mindspore().ops.reshape(place, out[0][0])


@adapter(lift=True)
def extreme_and_place(function: Any, out: Any, x: Any, dim: int, keepdim: bool = False) -> Any:
    """max and min along a dimension with their indices."""
    ops = mindspore().ops
    values, place = _extreme_and_place(function, x, axes_of(x, dim))
    (shape, dtype), _ = out
    return cast(ops.reshape(values, shape), dtype), ops.reshape(place, shape)


def _extreme_and_place(function: Any, x: Any, axes: tuple[int, ...]) -> tuple[Any, Any]:
    """By argmax of keys: NaN counts as the extreme."""
    ops, ms = mindspore().ops, mindspore()
    lowest = function is ops.argmin
    work = cast(x, theirs("float64" if name_of(x.dtype) in FLOATS else "int64"))
    work = flat(work, axes) if axes or x.ndim == 0 else work
    if work.ndim == 0 or not axes:
        work = ops.reshape(work, (*work.shape, 1)) if not x.ndim else work
    if name_of(work.dtype) == "int64":  # MindSpore's argmax compares floats
        best = (ops.amin if lowest else ops.amax)(work, -1, True)
        hit = ops.equal(work, best)
    else:
        v = Value(work)
        nans = v.differs(v)
        best = (ops.amin if lowest else ops.amax)(
            where(nans, -math.inf if lowest else math.inf, v).t, -1, True
        )
        any_nan = Value(ops.sum(cast(nans.t, theirs("int64")), -1, True)) > 0
        hit = ops.where(any_nan.t, nans.t, ops.equal(work, best))
    place = ops.Argmax(-1, ms.int64)(cast(hit, theirs("float32")))
    values = ops.squeeze(ops.gather_d(work, work.ndim - 1, ops.expand_dims(place, -1)), -1)
    return values, place


def moments(x: Any, dim: Axes, correction: float) -> tuple[Value, Value]:
    """(variance, mean) over the flattened dimensions, in float64."""
    ops = mindspore().ops
    v = Value(flat(cast(x, theirs("float64")), axes_of(x, dim)))
    n = v.t.shape[-1]
    mean = Value(ops.mean(v.t, -1, True))
    spread = v - mean
    total = Value(ops.sum((spread * spread).t, -1))
    degrees = max(n - correction, 0.0)
    return total / degrees if degrees else total * math.inf if n > 1 else total * math.nan, Value(
        ops.squeeze(mean.t, -1)
    )


@adapter()
def spread(function: Any, out: Any, x: Any, dim: Axes, correction: float, keepdim: bool) -> Any:
    """var, std and those with the mean: by the rows' own number of results and callable."""
    if name_of(x.dtype).startswith("complex"):
        return NotImplemented
    ops = mindspore().ops
    variance, mean = moments(x, dim, correction)
    first = variance.sqrt() if "std" in getattr(function, "__name__", "") else variance
    parts = [cast(ops.reshape(v.t, shape), dtype) for v, (shape, dtype) in zip((first, mean), out)]
    return parts[0] if len(out) == 1 else tuple(parts)


@adapter(empty=True, lift=True)
def norm(function: Any, out: Any, x: Any, ord: float, dim: Axes, keepdim: bool) -> Any:
    """_vector_norm"""
    ops, (shape, dtype) = mindspore().ops, out[0]
    if 0 in x.shape:
        return filled(out[0], 0)
    v = Value(ops.abs(cast(x, theirs("float64")))) if not name_of(x.dtype).startswith("complex") else None
    if v is None:
        x = cast(x, theirs("complex128"))
        re, im = Value(ops.real(x)), Value(ops.imag(x))
        v = (re * re + im * im).sqrt()
    axes = axes_of(x, dim)
    v = Value(flat(v.t, axes)) if axes else Value(ops.expand_dims(v.t, -1))
    if math.isinf(ord):
        best = Value((ops.amax if ord > 0 else ops.amin)(v.t, -1))
        result = best + Value(ops.sum(where(v.differs(v), v, 0.0).t, -1))
    elif ord == 0:
        result = Value(function(cast(v.differs(0.0).t, theirs("float64")), -1))
    elif ord in (1, 2):
        result = Value(function((v if ord == 1 else v * v).t, -1))
        result = result.sqrt() if ord == 2 else result
    else:
        result = Value(function(v.with_other("pow", ord).t, -1)).with_other("pow", 1.0 / ord)
    return cast(ops.reshape(result.t, shape), dtype)
