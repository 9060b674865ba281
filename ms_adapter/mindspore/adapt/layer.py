"""Layers: softmax, normalizations, losses and dropout's product, with what their backward needs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ms_adapter import _C

from .._package import mindspore, shares_memory
from ..backend import DEVICE
from . import adapter
from .reduce import filled
from .values import HALVES, Value, cast, name_of, theirs, where


def double(x: Any) -> Value:
    """The operand in float64."""
    return Value(cast(x, theirs("float64")))


def total(v: Value, dims: Any, keep: bool = True) -> Value:
    """Sums over dimensions that stay as 1."""
    return Value(mindspore().ops.sum(v.t, dims, keep))


def _from_greatest(x: Any, dim: int) -> Value:
    """x minus the greatest along `dim`, in float64; MindSpore's own softmax approximates."""
    v = cast(x if x.ndim else x.reshape(1), theirs("float64"))
    return Value(v) - Value(mindspore().ops.amax(v, dim, True))


@adapter()
def softmax(function: Any, out: Any, x: Any, dim: int, dtype: Any = None) -> Any:
    e = Value(function(_from_greatest(x, dim).t))
    return cast((e / total(e, dim)).t.reshape(out[0][0]), out[0][1])


@adapter()
def log_softmax(function: Any, out: Any, x: Any, dim: int, dtype: Any = None) -> Any:
    v = _from_greatest(x, dim)
    return cast((v - total(Value(function(v.t)), dim).log()).t.reshape(out[0][0]), out[0][1])


@adapter()
def softmax_backward(function: Any, out: Any, grad: Any, output: Any, dim: int) -> Any:
    g, y = double(grad), double(output)
    inner = Value(function((g * y).t, dim, True)) if g.t.ndim else g * y
    return cast((y * (g - inner)).t, out[0][1])


@adapter()
def log_softmax_backward(function: Any, out: Any, grad: Any, output: Any, dim: int) -> Any:
    g, y = double(grad), double(output)
    inner = Value(function(g.t, dim, True)) if g.t.ndim else g
    return cast((g - y.exp() * inner).t, out[0][1])


def _picked(target: Any, classes: int, ignored: int, weight: Any) -> tuple[np.ndarray, Any] | None:
    """(classes with the ignored ones as 0, each one's weight as float64)"""
    place = target.asnumpy().astype(np.int64)
    live = place != ignored
    if not ((place >= 0) & (place < classes) | ~live).all():
        return None
    place = np.where(live, place, 0)
    scale = np.ones(classes) if weight is None else cast(weight, theirs("float64")).asnumpy()
    return place, mindspore().Tensor.from_numpy(np.ascontiguousarray(scale[place] * live))


def reduced_nll(loss: Value, scale: Value, reduction: int, out: Any) -> Any:
    """The loss of all, and the sum of the classes' weights."""
    ops, (shape, dtype) = mindspore().ops, out[0]
    whole = Value(ops.sum(scale.t)) if reduction else Value(cast(0.0, theirs("float64")))
    if reduction:
        loss = Value(ops.sum(loss.t))
        loss = loss / whole if reduction == 1 else loss
    return cast(ops.reshape(loss.t, shape), dtype), cast(ops.reshape(whole.t, ()), dtype)


@adapter()
def nll(
    function: Any, out: Any, x: Any, target: Any, weight: Any = None, reduction: int = 1, ignored: int = -100
) -> Any:
    """nll_loss with the weights' sum, which its backward divides by."""
    ops = mindspore().ops
    axis = 0 if x.ndim == 1 else 1
    picked = _picked(target, x.shape[axis], ignored, weight)
    if picked is None:
        return NotImplemented
    place, scale = picked
    index = mindspore().Tensor.from_numpy(np.expand_dims(place, axis))
    taken = ops.squeeze(function(cast(x, theirs("float64")), axis, index), axis)
    return reduced_nll(-(Value(taken) * Value(scale)), Value(scale), reduction, out)


@adapter()
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
    picked = _picked(target, size[axis], ignored, weight)
    if picked is None:
        return NotImplemented
    place, scale = picked
    g = -(double(grad) * Value(scale))
    if reduction == 1:
        g = g / double(total_weight)
    g = Value(ops.reshape(g.t, place.shape))
    index = mindspore().Tensor.from_numpy(np.expand_dims(place, axis))
    blank = ops.zeros(tuple(size), theirs("float64"))
    return cast(function(blank, index, ops.expand_dims(g.t, axis), axis), dtype)


def _channelwise(v: Any, ndim: int) -> Value:
    return Value(cast(v, theirs("float64")).reshape((1, -1) + (1,) * (ndim - 2)))


def normalized(
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
) -> tuple[Any, list[Any], list[tuple[Any, Any]]]:
    """(batch_norm of x, what backward takes, each running statistic with its new value)"""
    v, dtype, moved = double(x), out[0][1], []
    dims = tuple(d for d in range(x.ndim) if d != 1)
    n = math.prod(x.shape[d] for d in dims)
    if training:
        mean = Value(function(v.t, dims, True))
        centred = v - mean
        var = Value(function((centred * centred).t, dims, True))
        for running, new in ((running_mean, mean), (running_var, var * (n / max(n - 1, 1)))):
            if running is not None:
                after = double(running) * (1.0 - momentum) + Value(new.t.reshape(-1)) * momentum
                moved.append((running, cast(after.t, running.dtype)))
    else:
        mean, var = _channelwise(running_mean, x.ndim), _channelwise(running_var, x.ndim)
        centred = v - mean
    invstd = (var + eps).rsqrt()
    y = centred * invstd
    if weight is not None:
        y = y * _channelwise(weight, x.ndim)
    if bias is not None:
        y = y + _channelwise(bias, x.ndim)
    kept = theirs("float32") if name_of(dtype) in HALVES else dtype
    return cast(y.t, dtype), [cast(p.t.reshape(-1), kept) for p in (mean, invstd)], moved


@adapter()
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
    """batch_norm with its statistics; the running ones change in place."""
    if training and running_mean is not None and not shares_memory():
        return NotImplemented  # the new statistics would go into a copy
    y, saved, moved = normalized(
        function, out, x, weight, bias, running_mean, running_var, training, momentum, eps
    )
    for running, new in moved:
        store(running, new)
    return y, *saved


def store(target: Any, value: Any) -> None:
    """Writes into the memory that a tensor here shares with MindSpore's, whatever its strides."""
    into, new = (_C.adopt_tensor(DEVICE, t) for t in (target, cast(value, target.dtype)))
    into.copy_(new)


@adapter()
def batch_norm_backward(
    function: Any, out: Any, grad: Any, x: Any, weight: Any, mean: Any, invstd: Any, training: bool
) -> Any:
    g, v = double(grad), double(x)
    dims = tuple(d for d in range(x.ndim) if d != 1)
    n = math.prod(x.shape[d] for d in dims)
    scale = _channelwise(invstd, x.ndim)
    normal = (v - _channelwise(mean, x.ndim)) * scale
    to_bias, to_weight = Value(function(g.t, dims, True)), Value(function((g * normal).t, dims, True))
    inner = g - to_bias / float(n) - normal * (to_weight / float(n)) if training else g
    to_input = inner * scale
    if weight is not None:
        to_input = to_input * _channelwise(weight, x.ndim)
    parts = (to_input.t, to_weight.t.reshape(-1), to_bias.t.reshape(-1))
    return tuple(cast(p, dtype) for p, (_, dtype) in zip(parts, out))


@adapter()
def layer_norm(
    function: Any,
    out: Any,
    x: Any,
    shape: tuple[int, ...],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn: bool = True,
) -> Any:
    """layer_norm with its mean and 1 / deviation."""
    v, dims = double(x), tuple(range(x.ndim - len(shape), x.ndim))
    mean = Value(function(v.t, dims, True))
    centred = v - mean
    rstd = (Value(function((centred * centred).t, dims, True)) + eps).rsqrt()
    y = centred * rstd
    y = y if weight is None else y * double(weight)
    y = y if bias is None else y + double(bias)
    return tuple(cast(p.t, out[0][1]) for p in (y, mean, rstd))


@adapter(empty=True)
def layer_norm_backward(
    function: Any, out: Any, grad: Any, x: Any, weight: Any, mean: Any, rstd: Any, shape: tuple[int, ...]
) -> Any:
    if 0 in x.shape:
        return tuple(filled(o, 0) for o in out)
    g, v = double(grad), double(x)
    inner_dims = tuple(range(x.ndim - len(shape), x.ndim))
    outer_dims = tuple(range(x.ndim - len(shape)))
    kept = (*x.shape[: x.ndim - len(shape)], *(1,) * len(shape))
    scale = Value(cast(rstd, theirs("float64")).reshape(kept))
    normal = (v - Value(cast(mean, theirs("float64")).reshape(kept))) * scale
    weighted = g if weight is None else g * double(weight)
    n = float(math.prod(shape))
    pull = total(weighted, inner_dims) / n + normal * (total(weighted * normal, inner_dims) / n)
    to_input = scale * (weighted - pull)
    over = lambda p: Value(function(p.t, outer_dims, False)) if outer_dims else p
    parts = (to_input, over(g * normal), over(g))
    return tuple(cast(p.t.reshape(s), dtype) for p, (s, dtype) in zip(parts, out))


@adapter()
def attention(function: Any, out: Any, query: Any, key: Any, value: Any, causal: bool, scale: float) -> Any:
    """softmax(query @ key.T * scale) @ value"""
    ops = mindspore().ops
    q, k, v = (cast(x, theirs("float64")) for x in (query, key, value))
    order = (*range(k.ndim - 2), k.ndim - 1, k.ndim - 2)
    scores = Value(function(q, ops.transpose(k, order))) * scale
    if causal:
        later = np.triu(np.ones(scores.t.shape[-2:], np.bool_), 1)
        scores = where(Value(mindspore().Tensor.from_numpy(later)), -math.inf, scores)
    e = _from_greatest(scores.t, -1).exp()
    return cast(function((e / total(e, -1)).t, v), out[0][1])
