"""Linear algebra. MindSpore ends the process on some matrices: those rows are fenced in the registry."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._package import mindspore
from . import adapter
from .values import cast, name_of, theirs


def wide(x: Any) -> Any:
    """The operand in double precision."""
    return cast(x, theirs("complex128" if name_of(x.dtype).startswith("complex") else "float64"))


def regular(a: Any) -> bool:
    """Whether LAPACK on the host finds every matrix invertible and finite."""
    values = a.asnumpy()
    return bool(np.isfinite(values).all() and (np.linalg.slogdet(values)[0] != 0).all())


def no_info(out: Any) -> Any:
    """Zeros where LAPACK would say which matrix failed."""
    shape, dtype = out
    return mindspore().ops.zeros(shape, dtype) if shape else cast(0, dtype)


@adapter()
def inverted(function: Any, out: Any, a: Any) -> Any:
    a = wide(a)
    if not regular(a):
        return NotImplemented
    return cast(function(a), out[0][1]), no_info(out[1])


@adapter()
def solved(function: Any, out: Any, a: Any, b: Any) -> Any:
    """A X = B by the inverse in double precision."""
    ops, a, b = mindspore().ops, wide(a), wide(b)
    if not regular(a) or name_of(out[0][1]) in ("float64", "complex128"):
        return NotImplemented
    vector = b.ndim == a.ndim - 1 and out[0][0] == b.shape
    columns = ops.expand_dims(b, -1) if vector else b
    x = ops.matmul(function(a), columns)
    return cast(x.reshape(out[0][0]), out[0][1]), no_info(out[1])


@adapter()
def solved_triangle(function: Any, out: Any, a: Any, b: Any, upper: bool, left: bool, unit: bool) -> Any:
    """Triangular systems by the inverse in double precision; results in double are left to LAPACK."""
    ops = mindspore().ops
    dtype = out[0][1]
    if name_of(dtype) != "float32":
        return NotImplemented
    a = (ops.triu if upper else ops.tril)(wide(a))
    if unit:
        eye = mindspore().Tensor.from_numpy(np.eye(a.shape[-1]))
        a = ops.where(ops.equal(eye, cast(1.0, eye.dtype)), eye, a)
    if not regular(a) or np.linalg.cond(a.asnumpy()).max() > 1e5:
        return NotImplemented
    inverse = function(a)
    x = ops.matmul(inverse, wide(b)) if left else ops.matmul(wide(b), inverse)
    return cast(x, dtype)


@adapter()
def orthogonal(function: Any, out: Any, a: Any, mode: str) -> Any:
    """qr"""
    if mode == "r" or 0 in a.shape:
        return NotImplemented
    parts = function(wide(a), mode)
    return tuple(cast(p, dtype) for p, (_, dtype) in zip(parts, out))


@adapter()
def singular(function: Any, out: Any, a: Any, full: bool, vectors: bool) -> Any:
    """svd"""
    if not vectors or not np.isfinite(a.asnumpy()).all():
        return NotImplemented
    s, u, v = function(wide(a), full, True)
    ops = mindspore().ops
    order = (*range(v.ndim - 2), v.ndim - 1, v.ndim - 2)
    vh = ops.transpose(v, order)
    parts = (u, s, ops.conj(vh) if name_of(vh.dtype).startswith("complex") else vh)
    return tuple(cast(p, dtype) for p, (_, dtype) in zip(parts, out))
