"""Gathering and scattering. Indices are looked at before they are used: MindSpore takes those out of
range."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._package import mindspore
from . import adapter
from .values import cast, name_of, theirs


def in_range(index: np.ndarray, size: int, negative: bool = False) -> bool:
    """Whether every index is one; negative ones may count from the end."""
    if hasattr(index, "require_range"):  # in a graph that is being made: it will see
        index.require_range(-size if negative else 0, size)
        return True
    return not index.size or (int(index.min()) >= (-size if negative else 0) and int(index.max()) < size)


def ints(index: np.ndarray) -> Any:
    """Indices for MindSpore."""
    return mindspore().Tensor.from_numpy(np.ascontiguousarray(index, np.int64))


def _positions(indices: tuple[Any, ...]) -> list[Any]:
    """Indices as arrays of positions: a mask is one for each of its dimensions."""
    found: list[Any] = []
    for index in indices:
        array = None if index is None else index.asnumpy()
        masks = array is not None and array.dtype in (np.bool_, np.uint8) and array.ndim > 0
        found += np.nonzero(array) if masks else [array]
    return found


def _places(shape: tuple[int, ...], indices: tuple[Any, ...]) -> tuple[list[int], np.ndarray] | None:
    """The indexed dimensions and the flat place in them of every element asked for; None where there is
    none or one is out of range."""
    indices = _positions(indices)
    dims = [d for d, index in enumerate(indices) if index is not None]
    arrays = [indices[d] for d in dims]
    if not dims or not all(in_range(a, shape[d], True) for a, d in zip(arrays, dims)):
        return None
    place = np.zeros((), np.int64)
    for a, d in zip(arrays, dims):
        place = place * shape[d] + np.where(a < 0, a + shape[d], a)
    return dims, place


def _indexed_first(x: Any, dims: list[int]) -> tuple[Any, list[int]]:
    """x as (places in the indexed dimensions, *the others), and the others."""
    ops, others = mindspore().ops, [d for d in range(x.ndim) if d not in dims]
    moved = ops.transpose(x, (*dims, *others))
    return ops.reshape(moved, (math.prod(x.shape[d] for d in dims), *moved.shape[len(dims) :])), others


def _first_place(dims: list[int]) -> int:
    """Where the index's own dimensions stand in the result: in front when the indexed ones are apart."""
    return dims[0] if dims == list(range(dims[0], dims[-1] + 1)) else 0


@adapter()
def indexed(function: Any, out: Any, x: Any, indices: tuple[Any, ...]) -> Any:
    """x[indices], some of them None."""
    ops, found = mindspore().ops, _places(x.shape, indices)
    if found is None:
        return NotImplemented
    dims, place = found
    rows, _ = _indexed_first(x, dims)
    taken = function(rows, ints(place.reshape(-1)), 0)
    at, n = _first_place(dims), place.ndim
    taken = ops.reshape(taken, (*place.shape, *rows.shape[1:]))
    order = [*range(n, n + at), *range(n), *range(n + at, taken.ndim)]
    return ops.transpose(taken, tuple(order)) if at else taken


@adapter(empty=True)
def placed_by_index(
    function: Any, out: Any, x: Any, indices: tuple[Any, ...], values: Any, accumulate: bool = False
) -> Any:
    """index_put: the values broadcast to what the indices name."""
    ops, found = mindspore().ops, _places(x.shape, indices)
    if found is None or (accumulate and name_of(x.dtype) == "bool"):
        return NotImplemented
    dims, place = found
    if not place.size:
        return ops.deepcopy(x)
    rows, others = _indexed_first(x, dims)
    at, n, rest = _first_place(dims), place.ndim, rows.shape[1:]
    target = (*rest[:at], *place.shape, *rest[at:])
    values = ops.broadcast_to(cast(values, x.dtype), target) if target else cast(values, x.dtype)
    if at:
        values = ops.transpose(values, (*range(at, at + n), *range(at), *range(at + n, values.ndim)))
    values = ops.reshape(values, (place.size, *rest))
    write = ops.tensor_scatter_add if accumulate else function
    rows = write(rows, ints(place.reshape(-1, 1)), values)
    whole = ops.reshape(rows, (*(x.shape[d] for d in dims), *rest))
    return ops.transpose(whole, tuple(int(d) for d in np.argsort([*dims, *others])))


@adapter(lift=True)
def gathered(function: Any, out: Any, x: Any, dim: int, index: Any, sparse_grad: bool = False) -> Any:
    """gather: x cut to the index's sizes in the other dimensions."""
    dim %= x.ndim
    if not in_range(index.asnumpy(), x.shape[dim]):
        return NotImplemented
    return function(_cut(x, index.shape, dim), dim, cast(index, theirs("int64")))


def _cut(x: Any, shape: tuple[int, ...], but: int | None = None) -> Any:
    if all(a == b or d == but for d, (a, b) in enumerate(zip(x.shape, shape))):
        return x
    return x[tuple(slice(None) if d == but else slice(0, n) for d, n in enumerate(shape))]


def _meets_itself(index: np.ndarray, dim: int) -> bool:
    """Whether two indices along `dim` are the same place."""
    line = np.sort(index, dim).swapaxes(dim, -1)
    return bool((line[..., 1:] == line[..., :-1]).any())


def _scatter(function: Any, x: Any, dim: int, index: Any, src: Any, how: str) -> Any:
    if 0 in index.shape:
        return mindspore().ops.deepcopy(x)
    dim %= x.ndim
    if not in_range(index.asnumpy(), x.shape[dim]):
        return NotImplemented
    if how == "add" and _meets_itself(index.asnumpy(), dim):
        return NotImplemented  # MindSpore's threads may lose one of two sums at one place
    return function(x, cast(index, theirs("int64")), _cut(src, index.shape), dim, how)


@adapter(empty=True, lift=True)
def scattered(function: Any, out: Any, x: Any, dim: int, index: Any, src: Any) -> Any:
    """scatter of a tensor, or of one number."""
    if not hasattr(src, "asnumpy"):
        src = mindspore().ops.full(index.shape, src, dtype=x.dtype)
    return _scatter(function, x, dim, index, cast(src, x.dtype), "none")


@adapter(empty=True, lift=True)
def scatter_added(function: Any, out: Any, x: Any, dim: int, index: Any, src: Any) -> Any:
    """scatter_add"""
    return NotImplemented if name_of(x.dtype) == "bool" else _scatter(function, x, dim, index, src, "add")


@adapter(lift=True)
def scatter_folded(
    function: Any, out: Any, x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool
) -> Any:
    """scatter_reduce and index_reduce by sums and means."""
    floats = name_of(x.dtype) in ("float32", "float64")
    if reduce not in ("sum", "mean") or not floats:
        return NotImplemented
    work, ops = theirs("float64"), mindspore().ops
    ones = ops.ones(index.shape, work)
    hit = _scatter(function, ops.zeros(x.shape, work), dim, index, ones, "add")
    if hit is NotImplemented:
        return hit
    base = cast(x, work)
    if not include_self:
        base = ops.where(ops.greater(hit, cast(0.0, work)), cast(0.0, work), base)
    total = _scatter(function, base, dim, index, cast(src, work), "add")
    if reduce == "mean":
        counts = ops.add(hit, cast(1.0, work)) if include_self else hit
        total = ops.div(total, ops.where(ops.greater(counts, cast(1.0, work)), counts, cast(1.0, work)))
    return cast(total, out[0][1])


def _folded_by(
    function: Any, out: Any, x: Any, dim: int, index: Any, src: Any, include_self: bool, start: float
) -> Any:
    """A fold by a callable that takes whole places; what it begins with where the target does not count."""
    if name_of(x.dtype) not in ("float32", "float64") or not in_range(index.asnumpy(), x.shape[dim]):
        return NotImplemented
    if np.isnan(x.asnumpy()).any() or np.isnan(src.asnumpy()).any():
        return NotImplemented
    places = np.indices(index.shape).reshape(index.ndim, -1)
    places[dim] = index.asnumpy().reshape(-1)
    base = x.asnumpy().astype(np.float64)
    if not include_self:
        base[tuple(places)] = start
    values = cast(_cut(src, index.shape), theirs("float64")).reshape(-1)
    folded = function(mindspore().Tensor.from_numpy(base), ints(places.T), values)
    return cast(folded, out[0][1])


def _fold(name: str, reduce: str, start: float) -> None:
    """An adapter of _scatter_fold for one reduction."""

    def run(
        function: Any, out: Any, x: Any, dim: int, index: Any, src: Any, how: str, include_self: bool
    ) -> Any:
        if how != reduce:
            return NotImplemented
        return _folded_by(function, out, x, dim % x.ndim, index, src, include_self, start)

    run.__name__ = name
    adapter(lift=True)(run)


for _name, _reduce, _start in (
    ("folded_to_greatest", "amax", -math.inf),
    ("folded_to_least", "amin", math.inf),
    ("folded_to_product", "prod", 1.0),
):
    _fold(_name, _reduce, _start)


@adapter(lift=True)
def selected_rows(function: Any, out: Any, x: Any, dim: int, index: Any) -> Any:
    """index_select"""
    if not in_range(index.asnumpy(), x.shape[dim % x.ndim]):
        return NotImplemented
    return function(x, index if index.ndim else index.reshape(1), dim % x.ndim)


@adapter(lift=True)
def index_added(function: Any, out: Any, x: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Any:
    """index_add along any dimension, by rows."""
    ops = mindspore().ops
    if name_of(x.dtype) == "bool":
        return NotImplemented
    dim %= x.ndim
    if not in_range(index.asnumpy(), x.shape[dim]):
        return NotImplemented
    order = (dim, *(d for d in range(x.ndim) if d != dim))
    rows = ops.transpose(source if source.ndim else source.reshape(1), order)
    rows = rows if alpha == 1 else ops.mul(rows, cast(alpha, rows.dtype))
    place = cast(index, theirs("int64")).reshape(-1, 1)
    return ops.transpose(
        function(ops.transpose(x, order), place, rows), tuple(int(d) for d in np.argsort(order))
    )


@adapter(data=True)
def places_of_true(function: Any, out: Any, x: Any) -> Any:
    """nonzero"""
    return function(x) if x.ndim else NotImplemented


@adapter(empty=True)
def joined(function: Any, out: Any, tensors: tuple[Any, ...], dim: int = 0) -> Any:
    """cat: empty vectors join anything."""
    parts = [cast(t, out[0][1]) for t in tensors if 0 not in t.shape]
    return function(parts, dim) if len(parts) > 1 else mindspore().ops.deepcopy(parts[0])


@adapter()
def looked_up(
    function: Any,
    out: Any,
    weight: Any,
    indices: Any,
    padding: int = -1,
    scale: bool = False,
    sparse: bool = False,
) -> Any:
    """embedding"""
    if not in_range(indices.asnumpy(), weight.shape[0]):
        return NotImplemented
    rows = function(weight, indices.reshape(-1), 0)
    return mindspore().ops.reshape(rows, out[0][0])


@adapter()
def summed_by_row(
    function: Any, out: Any, grad: Any, indices: Any, size: tuple[int, ...], padding: int, scale: bool
) -> Any:
    """The gradient of embedding."""
    ops, place = mindspore().ops, indices.asnumpy().reshape(-1)
    rows = cast(grad, theirs("float64")).reshape(place.size, size[1])
    weight = (place != padding).astype(np.float64)
    if scale:
        weight /= np.bincount(place, minlength=1)[place]
    if scale or padding >= 0:
        rows = ops.mul(rows, mindspore().Tensor.from_numpy(weight[:, None]))
    return cast(function(rows, ints(place), size[0]), out[0][1])


@adapter(data=True)
def classes_marked(function: Any, out: Any, x: Any, n: int = -1) -> Any:
    """one_hot"""
    place = x.asnumpy()
    n = n if n >= 0 else int(place.max()) + 1
    if not in_range(place, n):
        return NotImplemented
    classes = ints(np.arange(n))
    return cast(function(mindspore().ops.expand_dims(x, -1), classes), theirs("int64"))


@adapter()
def triangle(function: Any, out: Any, x: Any, diagonal: int = 0) -> Any:
    """tril and triu"""
    return function(x, diagonal)


@adapter()
def mirrored(function: Any, out: Any, x: Any, dims: tuple[int, ...]) -> Any:
    """flip"""
    return function(x, tuple(d % x.ndim for d in dims)) if x.ndim and dims else mindspore().ops.deepcopy(x)


@adapter()
def place_among_sorted(
    function: Any, out: Any, line: Any, x: Any, sorter: Any, right: bool, out_int32: bool
) -> Any:
    """searchsorted, of a row for each of the input's, or of one for all."""
    if name_of(line.dtype) != name_of(x.dtype) or not line.ndim:
        return NotImplemented
    lines, numbers = line.asnumpy(), x.asnumpy()
    if np.isnan(lines).any() or np.isnan(numbers).any():
        return NotImplemented
    if sorter is not None:
        lines = np.take_along_axis(lines, sorter.asnumpy(), -1)
    work = np.int64 if lines.dtype.kind in "iub" else np.float64
    rows = mindspore().Tensor.from_numpy(np.ascontiguousarray(lines, work))
    values = mindspore().Tensor.from_numpy(np.ascontiguousarray(numbers.reshape(numbers.shape or 1), work))
    return cast(function(rows, values, right=right), out[0][1]).reshape(out[0][0])
