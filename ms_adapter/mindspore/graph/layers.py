"""Adapters that a graph needs in another form: on the device they look at elements or change memory; and
layers that MindSpore has kernels for in float32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._package import mindspore
from ..adapt import window
from ..adapt.layer import double, normalized, reduced_nll
from ..adapt.values import Value, cast, theirs, where

graph_adapters: dict[str, Callable[..., Any]] = {}


def in_graph(run: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function take the place of the adapter of its name."""
    graph_adapters[run.__name__] = run
    return run


def _classes(target: Any, n: int, ignored: int, weight: Any) -> tuple[Any, Value]:
    """(classes with the ignored ones as 0, each one's weight)"""
    index = Value(cast(target, theirs("int64")))
    live = index.differs(ignored)
    place = where(live, index, 0)
    place.t.asnumpy().require_range(0, n)
    scale = live.to("float64")
    if weight is not None:
        ops = mindspore().ops
        each = ops.gather(cast(weight, theirs("float64")), ops.reshape(place.t, (-1,)), 0)
        scale = scale * Value(ops.reshape(each, place.t.shape))
    return place.t, scale


@in_graph
def nll(
    function: Any, out: Any, x: Any, target: Any, weight: Any = None, reduction: int = 1, ignored: int = -100
) -> Any:
    ops = mindspore().ops
    axis = 0 if x.ndim == 1 else 1
    place, scale = _classes(target, x.shape[axis], ignored, weight)
    taken = function(cast(x, theirs("float64")), axis, ops.expand_dims(place, axis))
    loss = -(Value(ops.reshape(taken, target.shape)) * scale)
    return reduced_nll(loss, scale, reduction, out)


@in_graph
def nll_backward(
    function: Any,
    out: Any,
    grad: Any,
    target: Any,
    weight: Any,
    total_weight: Any,
    size: tuple[int, ...],
    reduction: int,
    ignored: int,
) -> Any:
    ops, (_shape, dtype) = mindspore().ops, out[0]
    axis = 0 if len(size) == 1 else 1
    place, scale = _classes(target, size[axis], ignored, weight)
    g = -(double(grad) * scale)
    if reduction == 1:
        g = g / double(total_weight)
    blank = ops.zeros(tuple(size), theirs("float64"))
    each = ops.expand_dims(g.t, axis)
    return cast(function(blank, ops.expand_dims(place, axis), each, axis), dtype)


@in_graph
def batch_norm(
    function: Any,
    out: Any,
    x: Any,
    weight: Any,
    bias: Any,
    running_mean: Any,
    running_var: Any,
    training: bool,
    momentum: float,
    eps: float,
    cudnn: bool,
) -> Any:
    """batch_norm with its statistics, then the new running ones."""
    y, saved, moved = normalized(
        function, out, x, weight, bias, running_mean, running_var, training, momentum, eps
    )
    after = [new for _running, new in moved]
    return y, *saved[: max(len(out) - 1 - len(after), 0)], *after


@in_graph
def max_pool(
    function: Any,
    out: Any,
    x: Any,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    dilation: tuple[int, ...],
    ceil: bool,
) -> Any:
    """By MindSpore's kernel where it has one; it does not look for NaN."""
    if len(kernel) != 2 or x.ndim != 4 or x.dtype != theirs("float32"):
        return window.max_pool(function, out, x, kernel, stride, padding, dilation, ceil)
    np.isfinite(x.asnumpy())
    options = {"padding": padding, "dilation": dilation, "return_indices": True, "ceil_mode": ceil}
    return mindspore().ops.max_pool2d(x, kernel, stride, **options)
