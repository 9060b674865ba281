"""Convolution and pooling as gathers of windows and products, in any number of dimensions and dtype.

MindSpore's own convolutions on CPU take neither float64 nor 1-d or dilated pooling windows; gathers, products
and segment sums take all.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np

from .. import _package
from .._package import mindspore
from . import adapter
from .index import ints
from .values import Value, cast, theirs

Ints = tuple[int, ...]


@functools.lru_cache(256)
def windows(
    sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, counts: Ints
) -> np.ndarray:
    """(kernel elements, windows): flat places in the input; the padding's is one behind the last."""
    place = np.zeros((1, 1), np.int64)
    inside = np.ones((1, 1), np.bool_)
    for size, k, s, p, d, n in zip(sizes, kernel, stride, padding, dilation, counts):
        at = np.arange(k)[:, None] * d + np.arange(n)[None, :] * s - p
        here = (at >= 0) & (at < size)
        shape = (place.shape[0] * k, place.shape[1] * n)
        place = (place[:, None, :, None] * size + at[None, :, None, :]).reshape(shape)
        inside = (inside[:, None, :, None] & here[None, :, None, :]).reshape(shape)
    return np.where(inside, place, math.prod(sizes))


def flattened(x: Any, n: int) -> Any:
    """The last n dimensions as one."""
    return x.reshape((*x.shape[: x.ndim - n], math.prod(x.shape[x.ndim - n :])))


def patches(x: Any, places: np.ndarray, n: int, fill: float) -> Any:
    """(..., kernel elements, windows) of the last n dimensions, `fill` for the padding."""
    ops, lines = mindspore().ops, flattened(x, n)
    if (places == lines.shape[-1]).any():
        edge = ops.full((*lines.shape[:-1], 1), fill, dtype=lines.dtype)
        lines = ops.cat((lines, edge), -1)
    return ops.gather(lines, ints(places.reshape(-1)), lines.ndim - 1).reshape(
        (*lines.shape[:-1], *places.shape)
    )


def folded(values: Any, places: np.ndarray, size: int) -> Any:
    """The sums of (..., kernel elements, windows) by their places: what patches took."""
    ops = mindspore().ops
    lead = values.shape[:-2]
    rows = ops.transpose(values.reshape((math.prod(lead), places.size)), (1, 0))
    summed = ops.unsorted_segment_sum(rows, ints(places.reshape(-1)), size + 1)
    return ops.transpose(summed, (1, 0))[:, :size].reshape((*lead, size))


def work(x: Any) -> Any:
    return cast(x, theirs("float64"))


def product_work(x: Any) -> Any:
    """In float64; in a graph, which is for speed, float32 stays."""
    return x if _package.tracing() and x.dtype == theirs("float32") else work(x)


def _grouped(x: Any, groups: int) -> Any:
    """(N, groups, channels of one, ...)"""
    return x.reshape((x.shape[0], groups, x.shape[1] // groups, *x.shape[2:]))


@adapter()
def conv(
    function: Any,
    out: Any,
    x: Any,
    weight: Any,
    bias: Any,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Any:
    """Convolution: every group's weights times its windows."""
    (shape, dtype), n = out[0], len(stride)
    places = windows(x.shape[2:], weight.shape[2:], stride, padding, dilation, shape[2:])
    columns = _columns(_grouped(product_work(x), groups), places, n)
    kernels = product_work(weight).reshape((1, groups, weight.shape[0] // groups, -1))
    y = function(kernels, columns).reshape(shape)
    if bias is not None:
        y = mindspore().ops.add(y, product_work(bias).reshape((1, -1) + (1,) * n))
    return cast(y, dtype)


def _columns(x: Any, places: np.ndarray, n: int) -> Any:
    """(N, groups, channels * kernel elements, windows)"""
    taken = patches(x, places, n, 0.0)
    return taken.reshape((*taken.shape[:2], taken.shape[2] * taken.shape[3], taken.shape[4]))


@adapter()
def conv_input_grad(
    function: Any,
    out: Any,
    grad: Any,
    weight: Any,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Any:
    (shape, dtype), n, ops = out[0], len(stride), mindspore().ops
    places = windows(shape[2:], weight.shape[2:], stride, padding, dilation, grad.shape[2:])
    kernels = product_work(weight).reshape((1, groups, weight.shape[0] // groups, -1))
    g = _grouped(flattened(product_work(grad), n), groups)
    columns = function(ops.transpose(kernels, (0, 1, 3, 2)), g)
    columns = columns.reshape((grad.shape[0], shape[1], *places.shape))
    return cast(folded(columns, places, math.prod(shape[2:])).reshape(shape), dtype)


@adapter()
def conv_weight_grad(
    function: Any,
    out: Any,
    grad: Any,
    x: Any,
    size: Ints,
    stride: Ints,
    padding: Ints,
    dilation: Ints,
    groups: int,
) -> Any:
    (shape, dtype), n, ops = out[0], len(stride), mindspore().ops
    places = windows(x.shape[2:], shape[2:], stride, padding, dilation, grad.shape[2:])
    columns = _columns(_grouped(product_work(x), groups), places, n)
    g = _grouped(flattened(product_work(grad), n), groups)
    each = function(g, ops.transpose(columns, (0, 1, 3, 2)))
    return cast(ops.sum(each, 0).reshape(shape), dtype)


@adapter()
def max_pool(
    function: Any, out: Any, x: Any, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil: bool
) -> Any:
    """The greatest of each window and its place in the input."""
    (shape, dtype), n = out[0], len(kernel)
    places = windows(x.shape[-n:], kernel, stride, padding, dilation, shape[-n:])
    return _greatest(function, x, places, n, shape, dtype)


def _greatest(function: Any, x: Any, places: np.ndarray, n: int, shape: Ints, dtype: Any) -> Any:
    ms, ops = mindspore(), mindspore().ops
    v = work(x)
    if np.isnan(v.asnumpy()).any() or not np.isfinite(v.asnumpy()).all():
        return NotImplemented
    taken = patches(v, places, n, -math.inf)
    best = function(taken, -2, True)
    which = ops.Argmax(taken.ndim - 2, ms.int64)(cast(ops.equal(taken, best), theirs("float32")))
    index = ops.broadcast_to(ints(places), taken.shape)
    where_ = ops.gather_d(index, taken.ndim - 2, ops.expand_dims(which, -2))
    return cast(best.reshape(shape), dtype), where_.reshape(shape)


@functools.lru_cache(256)
def adaptive(sizes: Ints, counts: Ints) -> tuple[np.ndarray, np.ndarray]:
    """(places of each window's elements, padded behind; how many they are)"""
    per_dim = []
    for size, n in zip(sizes, counts):
        start = [i * size // n for i in range(n)]
        end = [-(-(i + 1) * size // n) for i in range(n)]
        per_dim.append([list(range(a, b)) for a, b in zip(start, end)])
    cells = []
    for window in itertools.product(*per_dim):
        grid = np.meshgrid(*window, indexing="ij")
        cells.append(np.ravel_multi_index([g.reshape(-1) for g in grid], sizes))
    most = max(len(c) for c in cells)
    places = np.full((most, len(cells)), math.prod(sizes))
    for i, cell in enumerate(cells):
        places[: len(cell), i] = cell
    return places, np.array([len(c) for c in cells], np.float64)


@adapter()
def adaptive_max_pool(function: Any, out: Any, x: Any, output_size: Ints) -> Any:
    (shape, dtype), n = out[0], len(output_size)
    places, _ = adaptive(tuple(x.shape[-n:]), tuple(output_size))
    return _greatest(function, x, places, n, shape, dtype)


@adapter()
def adaptive_avg_pool(function: Any, out: Any, x: Any, output_size: Ints) -> Any:
    (shape, dtype), n = out[0], len(output_size)
    places, counts = adaptive(tuple(x.shape[-n:]), tuple(output_size))
    summed = Value(function(patches(work(x), places, n, 0.0), -2))
    return cast((summed / Value(mindspore().Tensor.from_numpy(counts))).t.reshape(shape), dtype)


@adapter()
def adaptive_avg_pool_backward(
    function: Any, out: Any, grad: Any, input_size: Ints, output_size: Ints
) -> Any:
    (shape, dtype), n = out[0], len(output_size)
    places, counts = adaptive(tuple(shape[-n:]), tuple(output_size))
    each = Value(flattened(work(grad), n)) / Value(mindspore().Tensor.from_numpy(counts))
    return _spread(each.t, places, n, shape, dtype)


def _spread(each: Any, places: np.ndarray, n: int, shape: Ints, dtype: Any) -> Any:
    """Every window's gradient to all of its elements."""
    ops = mindspore().ops
    columns = ops.broadcast_to(ops.expand_dims(each, -2), (*each.shape[:-1], *places.shape))
    return cast(folded(columns, places, math.prod(shape[-n:])).reshape(shape), dtype)


def _divisors(
    sizes: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    counts: Ints,
    with_padding: bool,
    override: int | None,
) -> np.ndarray:
    """What each window's sum is divided by."""
    if override is not None:
        return np.full(math.prod(counts), float(override))
    lengths = []
    for size, k, s, p, n in zip(sizes, kernel, stride, padding, counts):
        start = np.arange(n) * s - p
        end = np.minimum(start + k, size + p)
        lengths.append(end - start if with_padding else np.minimum(end, size) - np.maximum(start, 0))
    return functools.reduce(np.multiply.outer, lengths).reshape(-1).astype(np.float64)


@adapter()
def avg_pool(
    function: Any,
    out: Any,
    x: Any,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil: bool,
    with_padding: bool,
    override: int | None = None,
) -> Any:
    (shape, dtype), n = out[0], len(kernel)
    sizes, counts = x.shape[-n:], shape[-n:]
    places = windows(sizes, kernel, stride, padding, (1,) * n, counts)
    divisor = _divisors(sizes, kernel, stride, padding, counts, with_padding, override)
    summed = Value(function(patches(work(x), places, n, 0.0), -2))
    return cast((summed / Value(mindspore().Tensor.from_numpy(divisor))).t.reshape(shape), dtype)


@adapter()
def avg_pool_backward(
    function: Any,
    out: Any,
    grad: Any,
    size: Ints,
    kernel: Ints,
    stride: Ints,
    padding: Ints,
    ceil: bool,
    with_padding: bool,
    override: int | None = None,
) -> Any:
    (shape, dtype), n = out[0], len(kernel)
    sizes, counts = shape[-n:], grad.shape[-n:]
    places = windows(sizes, kernel, stride, padding, (1,) * n, counts)
    divisor = _divisors(sizes, kernel, stride, padding, counts, with_padding, override)
    each = Value(flattened(work(grad), n)) / Value(mindspore().Tensor.from_numpy(divisor))
    return _spread(each.t, places, n, shape, dtype)


@adapter()
def max_pool_backward(
    function: Any, out: Any, grad: Any, indices: Any, input_size: Ints, pooled: Ints
) -> Any:
    """Each gradient to the place that its window's greatest element had."""
    (shape, dtype), n = out[0], len(pooled)
    lines, places = flattened(work(grad), n), flattened(indices, n)
    blank = mindspore().ops.zeros((*shape[: len(shape) - n], math.prod(shape[-n:])), theirs("float64"))
    return cast(function(blank, places, lines, lines.ndim - 1, "add").reshape(shape), dtype)


@adapter()
def max_pool_take(function: Any, out: Any, x: Any, indices: Any, pooled: Ints) -> Any:
    """What stands at the places of the greatest elements."""
    n = len(pooled)
    lines, places = flattened(x, n), flattened(indices, n)
    return function(lines, lines.ndim - 1, places).reshape(out[0][0])
