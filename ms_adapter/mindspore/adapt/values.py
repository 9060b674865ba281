"""MindSpore tensors under arithmetic that keeps PyTorch's precision: what formulas of adapters are written
in."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _package
from .._package import dtype_pairs, mindspore, shares_memory
from . import adapter

HALVES = ("float16", "bfloat16")
FLOATS = (*HALVES, "float32", "float64")
FLOAT32_MAX = float(np.finfo(np.float32).max)
_REAL = frozenset(("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"))


def is_tensor(x: Any) -> bool:
    """Whether `x` is a MindSpore tensor."""
    return isinstance(x, mindspore().Tensor)


@functools.cache
def _names() -> dict[str, str]:
    return {str(theirs): name for name, theirs in dtype_pairs()}


def name_of(dtype: Any) -> str:
    """'float32' for mindspore.float32."""
    return _names()[str(dtype)]


def theirs(name: str) -> Any:
    """mindspore.float32 for 'float32'; where there is no float64 to compute in, float32 stands for it."""
    if name == "float64" and not shares_memory():
        name = "float32"
    return getattr(mindspore(), "bool_" if name == "bool" else name)


@functools.lru_cache(1024)
def _constant(value: Any, kind: type, name: str) -> Any:
    if name == "bfloat16":
        return mindspore().ops.cast(_constant(value, kind, "float32"), theirs(name))
    return mindspore().Tensor.from_numpy(np.array(value).astype(name))


def constant(value: Any, dtype: Any) -> Any:
    """A 0-d tensor of one value, in full precision: MindSpore takes Python's floats for float32."""
    if _package.tracing():
        return _constant.__wrapped__(value, type(value), name_of(dtype))
    return _constant(value, type(value), name_of(dtype))


def cast(x: Any, dtype: Any) -> Any:
    """A tensor or a number as a tensor of `dtype`."""
    if not is_tensor(x):
        return constant(x, dtype)
    if x.dtype == dtype:
        return x
    if not _package.tracing() and shares_memory() and _REAL.issuperset(map(name_of, (x.dtype, dtype))):
        # In the shared memory: MindSpore's own cast waits for its threads, up to a millisecond.
        return mindspore().Tensor.from_numpy(x.asnumpy().astype(name_of(dtype), order="C"))
    return mindspore().ops.cast(x, dtype)


def rounded(x: Any, dtype: Any) -> Any:
    """An operand in float64, or a Python number, of a result in float32: it is rounded before, not after."""
    if name_of(dtype) != "float32":
        return x
    if isinstance(x, float):
        return float(np.float32(x)) if abs(x) < FLOAT32_MAX else x
    return cast(x, dtype) if is_tensor(x) and name_of(x.dtype) == "float64" else x


class Value:
    """A tensor of a formula: its operators and methods are MindSpore's callables, constants keep their
    bits."""

    __slots__ = ("t",)

    def __init__(self, t: Any) -> None:
        self.t = t

    def lifted(self, other: Any) -> Any:
        return other.t if isinstance(other, Value) else constant(other, self.t.dtype)

    def call(self, name: str, *args: Any) -> Value:
        """mindspore.ops.<name> of this tensor."""
        return Value(getattr(mindspore().ops, name)(self.t, *args))

    def __getattr__(self, name: str) -> Callable[..., Value]:
        return lambda *args: self.call(name, *args)

    def with_other(self, name: str, other: Any) -> Value:
        return self.call(name, self.lifted(other))

    __add__ = __radd__ = lambda self, o: self.with_other("add", o)
    __sub__ = lambda self, o: self.with_other("sub", o)
    __rsub__ = lambda self, o: Value(self.lifted(o)).with_other("sub", self)
    __mul__ = __rmul__ = lambda self, o: self.with_other("mul", o)
    __truediv__ = lambda self, o: self.with_other("div", o)
    __rtruediv__ = lambda self, o: Value(self.lifted(o)).with_other("div", self)
    __neg__ = lambda self: self.call("neg")
    __lt__ = lambda self, o: self.with_other("less", o)
    __le__ = lambda self, o: self.with_other("less_equal", o)
    __gt__ = lambda self, o: self.with_other("greater", o)
    __ge__ = lambda self, o: self.with_other("greater_equal", o)
    same = lambda self, o: self.with_other("equal", o)
    differs = lambda self, o: self.with_other("not_equal", o)
    __and__ = lambda self, o: self.with_other("logical_and", o)
    __or__ = lambda self, o: self.with_other("logical_or", o)
    __invert__ = lambda self: self.call("logical_not")

    def to(self, name: str) -> Value:
        """The same values as another dtype."""
        return Value(cast(self.t, theirs(name)))


def where(condition: Value, a: Any, b: Any) -> Value:
    """Elements of `a` where the condition holds, else of `b`; one of them may be a number."""
    like = a if isinstance(a, Value) else b
    return Value(mindspore().ops.where(condition.t, like.lifted(a), like.lifted(b)))


def work_dtype(name: str) -> str:
    """The dtype in which formulas compute what comes out as `name`."""
    if name in FLOATS:
        return "float64"
    return "complex128" if name.startswith("complex") else "int64"


def formula(run: Callable[..., Any]) -> Callable[..., Any]:
    """An adapter from a formula on Values: `run(function, *args)`, where tensors come as Values in the widest
    dtype of the result's kind, and `function` is the row's callable on Values."""

    def adapted(function: Any, out: Any, *args: Any) -> Any:
        dtype = out[0][1]
        work = theirs(work_dtype(name_of(dtype)))
        operands = (rounded(a, dtype) for a in args)
        values = [Value(cast(a, work)) if is_tensor(a) else a for a in operands]
        result = run(lambda *xs: Value(function(*(x.t for x in xs))), *values)
        return cast(result.t, dtype)

    adapted.__name__ = run.__name__
    adapted.__doc__ = run.__doc__
    return adapter()(adapted)
