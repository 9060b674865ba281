"""Products of matrices, with the sums that go into them."""

from __future__ import annotations

import math
from typing import Any

from .._package import mindspore
from . import adapter
from .reduce import filled
from .values import HALVES, cast, name_of, theirs


def multiplied(function: Any, out: Any, a: Any, b: Any) -> Any:
    """a @ b in a dtype that MindSpore multiplies; over no elements the sums are 0."""
    shape, dtype = out
    if 0 in a.shape or 0 in b.shape:
        return filled(out, 0)
    name = name_of(dtype)
    work = theirs("float32") if name in HALVES else theirs("int64") if "int" in name else dtype
    if name == "bool":
        return NotImplemented
    return cast(mindspore().ops.reshape(function(cast(a, work), cast(b, work)), shape), dtype)


@adapter(empty=True)
def matmul(function: Any, out: Any, a: Any, b: Any) -> Any:
    """matmul, mm, bmm, mv, dot."""
    return multiplied(function, out[0], a, b)


@adapter(empty=True)
def row_times(function: Any, out: Any, a: Any, b: Any) -> Any:
    """dot: a row by a column."""
    return multiplied(function, out[0], a.reshape(1, -1), b.reshape(-1, 1))


@adapter(empty=True)
def linear(function: Any, out: Any, x: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias"""
    ops, (_shape, dtype) = mindspore().ops, out[0]
    rows = ops.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) if 0 not in x.shape else x
    y = multiplied(function, out[0], rows, ops.transpose(weight, (1, 0)) if weight.ndim == 2 else weight)
    return y if bias is None or y is NotImplemented else ops.add(y, cast(bias, dtype))


@adapter(empty=True)
def plus_matmul(function: Any, out: Any, x: Any, a: Any, b: Any, beta: Any = 1, alpha: Any = 1) -> Any:
    """addmm and the like: beta * x + alpha * (a @ b); x does not count where beta is 0."""
    ops, (shape, dtype) = mindspore().ops, out[0]
    y = multiplied(function, out[0], a, b)
    if y is NotImplemented or 0 in shape:
        return y
    if alpha != 1:
        y = ops.mul(y, cast(alpha, dtype))
    if beta == 0:
        return y
    return ops.add(y, cast(x, dtype) if beta == 1 else ops.mul(cast(x, dtype), cast(beta, dtype)))
