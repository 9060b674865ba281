"""Sorting and what runs along a dimension. Where equal elements leave the order open cpu has PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._package import mindspore, shares_memory
from . import adapter
from .values import FLOATS, Value, cast, name_of, theirs, work_dtype


def work_of(x: Any) -> Any:
    """The operand in the widest dtype of its kind."""
    return cast(x, theirs(work_dtype(name_of(x.dtype))))


@adapter()
def running(function: Any, out: Any, x: Any, dim: int, dtype: Any = None) -> Any:
    """cumsum and cumprod"""
    shape, dtype = out[0]
    x = cast(x, theirs(work_dtype(name_of(dtype))))
    return cast(function(x, dim), dtype) if x.ndim else cast(mindspore().ops.deepcopy(x), dtype)


@adapter(lift=True)
def running_extreme(function: Any, out: Any, x: Any, dim: int) -> Any:
    """cummax and cummin: the last of equal places; NaN is left to cpu."""
    if name_of(x.dtype).startswith("complex") or has_nan(x):
        return NotImplemented
    ops, dtype = mindspore().ops, out[0][1]
    work = work_of(x)
    values = function(work, dim)[0]
    steps = ops.broadcast_to(_along(np.arange(x.shape[dim]), x.ndim, dim), x.shape)
    hit = ops.where(ops.equal(work, values), steps, cast(0, steps.dtype))
    places = ops.cummax(hit, dim)[0]
    return cast(values, dtype), cast(places, theirs("int64"))


def _along(numbers: np.ndarray, ndim: int, dim: int) -> Any:
    shape = [1] * ndim
    shape[dim] = -1
    return mindspore().Tensor.from_numpy(numbers.reshape(shape).astype(np.int64))


def has_nan(x: Any) -> bool:
    """Whether a floating operand has a NaN."""
    return name_of(x.dtype) in FLOATS and bool(np.isnan(cast(x, theirs("float32")).asnumpy()).any())


def _keys(x: Any) -> Any:
    """Integers in the order of float64 numbers, which MindSpore sorts as float32: their bits, where those
    of negative numbers count down."""
    bits = np.ascontiguousarray(x.asnumpy() + 0.0).view(np.int64)  # -0.0 is 0.0
    return mindspore().Tensor.from_numpy(np.where(bits < 0, bits ^ np.iinfo(np.int64).max, bits))


def _sorted(function: Any, x: Any, dim: int, descending: bool) -> tuple[Any, Any, bool] | None:
    """(values, places, whether some are equal) by MindSpore's sort; None where NaN leaves the order to it."""
    if has_nan(x) or name_of(x.dtype).startswith("complex"):
        return None
    if name_of(x.dtype) == "float64" and shares_memory():
        _, places = function(_keys(x), dim, descending)
        values = mindspore().ops.gather_d(x, dim % x.ndim, cast(places, theirs("int64")))
    else:
        values, places = function(
            cast(x, theirs("float64")) if name_of(x.dtype) in FLOATS else x, dim, descending
        )
    line = np.moveaxis(values.asnumpy(), dim, -1)
    equals = bool((line[..., 1:] == line[..., :-1]).any())
    return cast(values, x.dtype), cast(places, theirs("int64")), equals


@adapter(lift=True)
def in_order(
    function: Any, out: Any, x: Any, stable: Any = None, dim: int = -1, descending: bool = False
) -> Any:
    """sort; equals stay in their order, by a second sort of their places within each run of equals."""
    found = _sorted(function, x, dim, descending)
    if found is None:
        return NotImplemented
    values, places, equals = found
    if not equals:
        return values, places
    ops, n = mindspore().ops, x.shape[dim]
    line = np.moveaxis(values.asnumpy(), dim, -1)
    runs = np.zeros(line.shape, np.int64)
    runs[..., 1:] = np.cumsum(line[..., 1:] != line[..., :-1], -1)
    first = mindspore().Tensor.from_numpy(np.ascontiguousarray(np.moveaxis(runs, -1, dim) * n))
    keys, _ = function(ops.add(first, places), dim, False)
    places = ops.sub(keys, first)
    return ops.gather_d(x, dim % x.ndim, places), places


@adapter(lift=True)
def greatest(
    function: Any, out: Any, x: Any, k: int, dim: int = -1, largest: bool = True, ordered: bool = True
) -> Any:
    """topk, from the whole order."""
    found = _sorted(function, x, dim, largest)
    if found is None or found[2]:  # which of equals come first is PyTorch's own affair
        return NotImplemented
    cut = tuple(slice(0, k) if d == dim % x.ndim else slice(None) for d in range(x.ndim))
    return tuple(mindspore().ops.deepcopy(t[cut]) for t in found[:2])


@adapter(lift=True)
def at_rank(function: Any, out: Any, x: Any, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """kthvalue"""
    found = _sorted(function, x, dim, False)
    if found is None or found[2]:
        return NotImplemented
    cut = tuple(slice(k - 1, k) if d == dim % x.ndim else slice(None) for d in range(x.ndim))
    return tuple(mindspore().ops.reshape(t[cut], shape) for t, (shape, _) in zip(found, out))


@adapter(lift=True)
def log_of_running_sum(function: Any, out: Any, x: Any, dim: int) -> Any:
    """logcumsumexp, step by step from the greatest so far."""
    if name_of(x.dtype) not in FLOATS or not np.isfinite(cast(x, theirs("float64")).asnumpy()).all():
        return NotImplemented
    v = Value(cast(x, theirs("float64")))
    top = Value(mindspore().ops.amax(v.t, dim, True))
    if float((top.t - mindspore().ops.amin(v.t, dim, True)).max().asnumpy()) > 30.0:
        return NotImplemented  # the small ones would drown
    return cast((Value(function((v - top).exp().t, dim)).log() + top).t, out[0][1])
