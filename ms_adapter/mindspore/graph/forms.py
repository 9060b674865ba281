"""Rows that graphs express in their own way: views, and what makes, fills or copies memory.

On the device such rows need no callable of MindSpore, since the memory is shared; a graph has values only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._package import mindspore
from ..adapt.values import cast


class Call(NamedTuple):
    """A node to lower: its arguments by name, tensors as stand-ins; each result's shape and dtype; and the
    strides of the first argument."""

    args: dict[str, Any]
    out: list[tuple[tuple[int, ...], Any]]
    strides: tuple[int, ...]

    @property
    def first(self) -> Any:
        """The first argument."""
        return next(iter(self.args.values()))


Form = Callable[[Call], Any]
forms: dict[str, Form] = {}


def form(*rows: str) -> Callable[[Form], Form]:
    """Makes a function the form of these rows."""

    def add(run: Form) -> Form:
        forms.update(dict.fromkeys(rows, run))
        return run

    return add


@form("reshape", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "alias")
def reshaped(call: Call) -> Any:
    """The same elements in another shape."""
    return mindspore().ops.reshape(call.first, call.out[0][0])


@form("permute")
def permuted(call: Call) -> Any:
    x = call.first
    return mindspore().ops.transpose(x, tuple(d % x.ndim for d in call.args["dims"])) if x.ndim else x


@form("t", "transpose", "swapaxes")
def transposed(call: Call) -> Any:
    x = call.first
    if x.ndim < 2:
        return x
    a, b = [*call.args.values()][1:3] if len(call.args) > 1 else (0, 1)
    order = [*range(x.ndim)]
    order[a], order[b] = order[b], order[a]
    return mindspore().ops.transpose(x, tuple(order))


@form("_expand")
def expanded(call: Call) -> Any:
    x, shape = call.first, call.out[0][0]
    x = mindspore().ops.reshape(x, (1,) * (len(shape) - x.ndim) + tuple(x.shape))
    return mindspore().ops.broadcast_to(x, shape) if tuple(x.shape) != shape else x


def _along(x: Any, dim: int, index: Any) -> Any:
    return x[(*(slice(None) for _ in range(dim % x.ndim)), index)]


@form("select")
def selected(call: Call) -> Any:
    dim = call.args["dim"]
    return _along(call.first, dim, call.args["index"] % call.first.shape[dim])


@form("slice")
def sliced(call: Call) -> Any:
    dim, step = call.args["dim"], call.args["step"]
    size = call.first.shape[dim]
    start, stop, _ = slice(call.args["start"], call.args["end"]).indices(size)
    return _along(call.first, dim, slice(start, max(start, stop), step))


@form("narrow")
def narrowed(call: Call) -> Any:
    dim, length = call.args["dim"], call.args["length"]
    start = call.args["start"] % max(call.first.shape[dim], 1)
    return _along(call.first, dim, slice(start, start + length))


@form("unbind")
def unbound(call: Call) -> Any:
    dim = call.args["dim"]
    return tuple(_along(call.first, dim, i) for i in range(call.first.shape[dim]))


@form("split", "split_with_sizes")
def parted(call: Call) -> Any:
    dim, start, parts = call.args["dim"], 0, []
    for shape, _ in call.out:
        stop = start + shape[dim]
        parts.append(_along(call.first, dim, slice(start, stop)))
        start = stop
    return tuple(parts)


def _taken(x: Any, places: np.ndarray) -> Any:
    """The elements of x at flat places."""
    ops = mindspore().ops
    index = mindspore().Tensor.from_numpy(np.ascontiguousarray(places, np.int64).reshape(-1))
    return ops.reshape(ops.gather(ops.reshape(x, (-1,)), index, 0), places.shape)


def _numbered(shape: tuple[int, ...]) -> Any:
    from ms_adapter import pytorch as torch

    n = int(np.prod(shape, dtype=np.int64))
    return torch.arange(n).reshape(shape)


@form("diagonal")
def diagonal(call: Call) -> Any:
    places = _numbered(call.first.shape).diagonal(*[*call.args.values()][1:])
    return _taken(call.first, places.numpy())


@form("unfold")
def unfolded(call: Call) -> Any:
    places = _numbered(call.first.shape).unfold(*[*call.args.values()][1:])
    return _taken(call.first, places.numpy())


def _places(call: Call) -> np.ndarray:
    """Flat places in the first argument, whose elements lie in memory by its strides, of what is seen."""
    shape = call.first.shape
    memory = np.zeros(shape, np.int64)
    for d, (n, stride) in enumerate(zip(shape, call.strides)):
        memory += (np.arange(n) * stride).reshape([-1 if i == d else 1 for i in range(len(shape))])
    element_at = np.empty(memory.size, np.int64)
    element_at[memory.reshape(-1)] = np.arange(memory.size)
    size = call.args["size"]
    asked = np.full(size, call.args["storage_offset"] or 0, np.int64)
    for d, (n, stride) in enumerate(zip(size, call.args["stride"])):
        asked += (np.arange(n) * stride).reshape([-1 if i == d else 1 for i in range(len(size))])
    return element_at[asked]


@form("as_strided")
def strided(call: Call) -> Any:
    return _taken(call.first, _places(call))


@form("as_strided_scatter")
def strided_scatter(call: Call) -> Any:
    ops, (shape, _) = mindspore().ops, call.out[0]
    index = mindspore().Tensor.from_numpy(_places(call).reshape(-1))
    flat = ops.reshape(call.first, (-1,))
    values = ops.reshape(call.args["src"], (-1,))
    return ops.reshape(ops.tensor_scatter_elements(flat, index, values, 0), shape)


def _full(call: Call, value: Any) -> Any:
    shape, dtype = call.out[0]
    return mindspore().ops.full(shape, value, dtype=dtype) if shape else cast(value, dtype)


@form("fill", "full", "full_like")
def full(call: Call) -> Any:
    given = [*call.args.values()][1]
    return _full(call, given) if isinstance(given, (bool, int, float)) else _copied(call, given)


@form("zero", "zeros", "zeros_like", "empty", "empty_like", "empty_strided")
def zeros(call: Call) -> Any:
    return _full(call, 0)


@form("ones", "ones_like")
def ones(call: Call) -> Any:
    return _full(call, 1)


def _copied(call: Call, source: Any) -> Any:
    shape, dtype = call.out[0]
    source = cast(source, dtype)
    return source if tuple(source.shape) == shape else mindspore().ops.broadcast_to(source, shape)


@form("clone", "_to_copy")
def cloned(call: Call) -> Any:
    return _copied(call, call.first)


@form("copy")
def copied(call: Call) -> Any:
    return _copied(call, [*call.args.values()][1])
