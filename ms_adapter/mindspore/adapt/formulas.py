"""Activations, losses and their slopes, written out of MindSpore's arithmetic."""

from __future__ import annotations

import math
from typing import Any

from .values import Value, formula, name_of, where

Number = float | int


@formula
def threshold(f: Any, x: Value, limit: Number, value: Number) -> Value:
    return f(x <= limit, x.full_like(value), x)


@formula
def threshold_backward(f: Any, g: Value, x: Value, limit: Number) -> Value:
    return f(x <= limit, g.zeros_like(), g)


@formula
def hardtanh(f: Any, x: Value, low: Number = -1, high: Number = 1) -> Value:
    x = f(x < low, x.full_like(low), x)
    return f(x > high, x.full_like(high), x)


@formula
def hardtanh_backward(f: Any, g: Value, x: Value, low: Number, high: Number) -> Value:
    return f((x <= low) | (x >= high), g.zeros_like(), g)


@formula
def leaky_relu(f: Any, x: Value, slope: Number = 0.01) -> Value:
    return f(x > 0, x, x * slope)


@formula
def leaky_relu_backward(f: Any, g: Value, x: Value, slope: Number) -> Value:
    return f(x > 0, g, g * slope)


@formula
def hardsigmoid(f: Any, x: Value) -> Value:
    return _clipped(f, x + 3.0) / 6.0


def _clipped(f: Any, x: Value) -> Value:
    x = f(x < 0.0, x.zeros_like(), x)
    return f(x > 6.0, x.full_like(6.0), x)


@formula
def hardsigmoid_backward(f: Any, g: Value, x: Value) -> Value:
    return f((x > -3.0) & (x < 3.0), g / 6.0, g.zeros_like())


@formula
def hardswish(f: Any, x: Value) -> Value:
    return x * _clipped(f, x + 3.0) / 6.0


@formula
def hardswish_backward(f: Any, g: Value, x: Value) -> Value:
    inner = f(x < 3.0, g * (x / 3.0 + 0.5), g)
    return f(x <= -3.0, g.zeros_like(), inner)


@formula
def silu_backward(f: Any, g: Value, x: Value) -> Value:
    s = f(x)
    return g * s * (1.0 + x * (1.0 - s))


@formula
def softplus(f: Any, x: Value, beta: Number = 1, limit: Number = 20) -> Value:
    z = x * beta
    return where(z > limit, x, f(z.exp()) / beta)


@formula
def softplus_backward(f: Any, g: Value, x: Value, beta: Number, limit: Number) -> Value:
    z = x * beta
    e = f(z)
    return where(z > limit, g, g * e / (e + 1.0))


@formula
def elu(f: Any, x: Value, alpha: Number = 1, scale: Number = 1, input_scale: Number = 1) -> Value:
    return where(x <= 0.0, f(x * input_scale) * alpha * scale, x * scale)


@formula
def elu_backward(f: Any, g: Value, x: Value, alpha: Number, scale: Number, input_scale: Number) -> Value:
    negative = g * input_scale * alpha * scale * f(x * input_scale)
    return where(x <= 0.0, negative, g * scale)


@formula
def logsigmoid(f: Any, x: Value) -> Value:
    return where(x < 0.0, x, 0.0) - f((-x.abs()).exp())


@formula
def log_sigmoid_backward(f: Any, g: Value, x: Value) -> Value:
    return g * f(-x)


@formula
def mish(f: Any, x: Value) -> Value:
    return x * f(_softplus(x))


def _softplus(x: Value) -> Value:
    return where(x > 20.0, x, x.exp().log1p())


@formula
def mish_backward(f: Any, g: Value, x: Value) -> Value:
    t = f(_softplus(x))
    return g * (t + x * x.sigmoid() * (1.0 - t * t))


@formula
def gelu_erf(f: Any, x: Value) -> Value:
    return x * 0.5 * (f(x * math.sqrt(0.5)) + 1.0)


@formula
def gelu_erf_backward(f: Any, g: Value, x: Value) -> Value:
    density = (x * x * -0.5).exp() * (1.0 / math.sqrt(2.0 * math.pi))
    return g * (0.5 * (f(x * math.sqrt(0.5)) + 1.0) + x * density)


def _gelu_inner(x: Value) -> Value:
    return math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)


@formula
def gelu_tanh(f: Any, x: Value) -> Value:
    return 0.5 * x * (1.0 + f(_gelu_inner(x)))


@formula
def gelu_tanh_backward(f: Any, g: Value, x: Value) -> Value:
    t = f(_gelu_inner(x))
    slope = math.sqrt(2.0 / math.pi) * (1.0 + 3 * 0.044715 * x * x)
    return g * (0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope)


@formula
def sigmoid_backward(f: Any, g: Value, y: Value) -> Value:
    return f(f(g, _conjugate(1.0 - y)), _conjugate(y))


@formula
def tanh_backward(f: Any, g: Value, y: Value) -> Value:
    return f(g, _conjugate(1.0 - f(y, y)))


def _conjugate(x: Value) -> Value:
    return x.conj() if name_of(x.t.dtype).startswith("complex") else x


@formula
def prelu(f: Any, x: Value, weight: Value) -> Value:
    return f(x > 0.0, x, x * weight)


@formula
def hardshrink(f: Any, x: Value, limit: Number) -> Value:
    return f((x >= -limit) & (x <= limit), x.zeros_like(), x)


@formula
def softshrink(f: Any, x: Value, limit: Number) -> Value:
    return f(x > limit, x - limit, f(x < -limit, x + limit, x * 0.0))


@formula
def shrink_backward(f: Any, g: Value, x: Value, limit: Number) -> Value:
    return f((x >= -limit) & (x <= limit), g.zeros_like(), g)


@formula
def smooth_l1(f: Any, x: Value, y: Value, beta: Number) -> Value:
    z = f(x - y)
    return where(z < beta, 0.5 * z * z / beta, z - 0.5 * beta) if beta else z


@formula
def huber(f: Any, x: Value, y: Value, delta: Number) -> Value:
    z = f(x - y)
    return where(z <= delta, 0.5 * z * z, delta * (z - 0.5 * delta))


@formula
def bce(f: Any, x: Value, y: Value) -> Value:
    bounded = lambda v: where(v < -100.0, -100.0, v)
    return (y - 1.0) * bounded(f(1.0 - x)) - y * bounded(f(x))


@formula
def bce_backward(f: Any, g: Value, x: Value, y: Value) -> Value:
    spread = f(1.0 - x, x)
    return g * (x - y) / where(spread < 1e-12, 1e-12, spread)


@formula
def entr(f: Any, x: Value) -> Value:
    y = -x * f(x)
    return where(x > 0.0, y, where(x.same(0.0), 0.0, where(x.differs(x), x, x.full_like(-math.inf))))


@formula
def logit(f: Any, x: Value, low: Number, high: Number, outside: Number) -> Value:
    x = where(x < low, low, where(x > high, high, x)) if low >= 0.0 else x
    return f(x / (1.0 - x))


@formula
def logit_slope(f: Any, g: Value, x: Value, low: Number, high: Number, outside: Number) -> Value:
    return f((x < low) | (x > high), x.full_like(outside), g / (x * (1.0 - x)))


@formula
def clipped_product(f: Any, g: Value, x: Value, limit: Number) -> Value:
    x = f(x < -limit, x.full_like(-limit), x)
    return g * f(x > limit, x.full_like(limit), x)


@formula
def gate_slope(f: Any, g: Value, first: Value, gate: Value) -> Value:
    return f(f(f(1.0 - gate, gate), first), g)
