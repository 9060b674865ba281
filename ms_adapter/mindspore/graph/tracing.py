"""Adapters as source code: they run once over stand-ins for tensors, and every callable of MindSpore that
they call becomes a line of a Cell's construct.

The stand-ins carry real tensors of the right shapes, so that adapters may ask for shapes and dtypes. Where an
adapter looks at elements to see whether a callable may be used (indices in range, no infinities), the graph
computes that beside its results; when it does not hold, the call runs as Python.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _package


class Unsupported(Exception):
    """An adapter needs elements that a graph does not have when it is made."""


class Trace:
    """The lines of one construct, its constants, and the conditions under which its results hold."""

    def __init__(self) -> None:
        self.real = _package.mindspore()
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self.conditions: list[Symbol] = []
        self._known: dict[Any, Symbol] = {}
        self._lines_by_text: dict[str, Any] = {}
        self._count = 0

    def name(self, prefix: str = "t") -> str:
        """A new name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, array: np.ndarray) -> Symbol:
        """A tensor of these elements; equal ones share one."""
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            name = self.name("k")
            self.constants[name] = self.real.Tensor.from_numpy(
                np.ascontiguousarray(array).reshape(array.shape)
            )
            self._known[key] = Symbol(self, f"self.{name}", self.constants[name])
        return self._known[key]

    def call(self, text: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """What the function gives, as a line where that is a tensor or several."""
        result = function(*map(real_of, args), **{k: real_of(v) for k, v in kwargs.items()})
        given = ", ".join([*map(text_of, args), *(f"{k}={text_of(v)}" for k, v in kwargs.items())])
        return self.result(f"{text}({given})", result)

    def result(self, text: str, result: Any) -> Any:
        """A line that computes `text`, for the stand-ins `result`; the same text is one line."""
        if text not in self._lines_by_text:
            self._lines_by_text[text] = self._line(text, result)
        return self._lines_by_text[text]

    def _line(self, text: str, result: Any) -> Any:
        if isinstance(result, self.real.Tensor):
            symbol = Symbol(self, self.name(), result)
            self.lines.append(f"{symbol.name} = {text}")
            return symbol
        if isinstance(result, (tuple, list)) and result and isinstance(result[0], self.real.Tensor):
            symbols = tuple(Symbol(self, self.name(), part) for part in result)
            self.lines.append(f"{', '.join(s.name for s in symbols)}, = {text}")
            return symbols
        return result

    def require(self, condition: Any) -> None:
        """The graph's results hold only where the condition, a bool tensor, is true everywhere."""
        flat = self.real_ops.reshape(condition, (-1,))
        all_true = self.real_ops.ReduceAll()(flat)
        if all_true not in self.conditions:
            self.conditions.append(all_true)

    @property
    def real_ops(self) -> Any:
        """MindSpore's ops, as lines."""
        return StandIn(self).ops


class Symbol:
    """A tensor of the graph: its name there, and a real one of its shape and dtype."""

    def __init__(self, trace: Trace, name: str, tensor: Any) -> None:
        self.trace, self.name, self.tensor = trace, name, tensor

    @staticmethod
    def from_numpy(array: np.ndarray) -> Symbol:
        """A constant; not what came out of `asnumpy`, which a graph does not know."""
        if isinstance(array, Peek):
            raise Unsupported("elements would be frozen")
        return _package.thread.standing_in.trace.constant(array)

    def asnumpy(self) -> Any:
        """Elements that can be asked some questions."""
        if self.name.startswith("self."):
            return self.tensor.asnumpy()
        peek = np.zeros(self.tensor.shape, _array_dtype(self.tensor)).view(Peek)
        peek.symbol = self
        return peek

    def reshape(self, *shape: Any) -> Symbol:
        """The elements in another shape."""
        return self.trace.real_ops.reshape(self, shape[0] if isinstance(shape[0], (tuple, list)) else shape)

    def __getitem__(self, index: Any) -> Symbol:
        return self.trace.result(f"{self.name}[{_index_text(index)}]", self.tensor[index])

    def __add__(self, other: Any) -> Symbol:
        return self.trace.real_ops.add(self, other)

    def __sub__(self, other: Any) -> Symbol:
        return self.trace.real_ops.sub(self, other)

    def __mul__(self, other: Any) -> Symbol:
        return self.trace.real_ops.mul(self, other)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.tensor, name)
        if callable(found):
            return lambda *args, **kwargs: self.trace.call(f"{self.name}.{name}", found, args, kwargs)
        return found


def _array_dtype(tensor: Any) -> Any:
    name = str(tensor.dtype).lower()
    return {"bool": np.bool_, "bfloat16": np.float32}.get(name, name)


class Peek(np.ndarray):
    """What `asnumpy` gives of a tensor of the graph: it answers whether all is finite or in a range, by
    conditions of the graph, and nothing else."""

    symbol: Symbol | None = None

    def require_range(self, low: int, high: int) -> None:
        """All elements are at least `low` and below `high`."""
        assert self.symbol is not None
        trace, ops = self.symbol.trace, self.symbol.trace.real_ops
        wide = ops.cast(self.symbol, trace.real.int64)
        trace.require(ops.greater_equal(wide, trace.constant(np.array(low))))
        trace.require(ops.less(wide, trace.constant(np.array(high))))

    def require_nonzero(self) -> None:
        """No element is 0."""
        assert self.symbol is not None
        trace, ops = self.symbol.trace, self.symbol.trace.real_ops
        trace.require(ops.not_equal(ops.cast(self.symbol, trace.real.int64), trace.constant(np.array(0))))

    def __array_finalize__(self, source: Any) -> None:
        self.symbol = getattr(source, "symbol", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if ufunc not in (np.isfinite, np.isnan) or method != "__call__" or self.symbol is None:
            raise Unsupported(f"numpy.{ufunc.__name__} of elements")
        trace = self.symbol.trace
        if "Float" in str(self.symbol.tensor.dtype):
            trace.require(trace.real_ops.isfinite(self.symbol))
        return np.full(self.shape, ufunc is np.isfinite)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise Unsupported(f"numpy.{function.__name__} of elements")


class Space:
    """A module of MindSpore whose functions write lines."""

    def __init__(self, trace: Trace, text: str, real: Any) -> None:
        self._trace, self._text, self._real = trace, text, real

    def __getattr__(self, name: str) -> Any:
        real, text = getattr(self._real, name), f"{self._text}.{name}"
        if name == "deepcopy":
            return lambda x: x  # nothing changes in a graph
        if name == "reshape":
            return lambda x, shape: (
                x if tuple(x.shape) == shape else self._trace.call(text, real, (x, shape), {})
            )
        if inspect.isclass(real):
            return lambda *args, **kwargs: _primitive(self._trace, text, real, args, kwargs)
        if inspect.ismodule(real):
            return Space(self._trace, text, real)
        if callable(real):
            return Written(self._trace, text, real)
        return real


class Written:
    """A callable of MindSpore that writes a line."""

    def __init__(self, trace: Trace, text: str, real: Any) -> None:
        self._trace, self._text, self._real = trace, text, real
        self.__name__ = getattr(real, "__name__", text)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._trace.call(self._text, self._real, args, kwargs)


def _primitive(trace: Trace, text: str, real: Any, args: Any, kwargs: Any) -> Written:
    """A primitive made inside the construct."""
    given = ", ".join([*map(text_of, args), *(f"{k}={text_of(v)}" for k, v in kwargs.items())])
    return Written(trace, f"{text}({given})", real(*args, **kwargs))


class StandIn:
    """The package `mindspore` while adapters are traced."""

    Tensor = Symbol

    def __init__(self, trace: Trace) -> None:
        self.trace = trace

    @property
    def ops(self) -> Any:
        """Its functions, as lines."""
        return Space(self.trace, "ops", self.trace.real.ops)

    @property
    def mint(self) -> Any:
        """Its functions, as lines."""
        return Space(self.trace, "ms.mint", self.trace.real.mint)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.trace.real, name)


@contextlib.contextmanager
def standing_in(trace: Trace) -> Iterator[StandIn]:
    """Adapters that run in the block write lines."""
    _package.thread.standing_in = StandIn(trace)
    try:
        yield _package.thread.standing_in
    finally:
        _package.thread.standing_in = None


def real_of(x: Any) -> Any:
    """A stand-in's real tensor; containers too."""
    if isinstance(x, Symbol):
        return x.tensor
    if isinstance(x, (tuple, list)):
        return type(x)(map(real_of, x))
    return x


def text_of(x: Any) -> str:
    """An argument as source code."""
    if isinstance(x, Symbol):
        return x.name
    if isinstance(x, tuple):
        return f"({''.join(text_of(part) + ', ' for part in x)})"
    if isinstance(x, list):
        return f"[{', '.join(map(text_of, x))}]"
    if isinstance(x, (np.integer, np.floating, np.bool_)):
        x = x.item()
    if isinstance(x, float) and (x != x or x in (float("inf"), float("-inf"))):
        return f"float('{x}')"
    if x is None or isinstance(x, (bool, int, float, str)):
        return repr(x)
    name = str(x)
    if hasattr(_package.mindspore(), name.lower()):
        return f"ms.{'bool_' if name == 'Bool' else name.lower()}"
    raise Unsupported(f"{type(x).__name__} as an argument")


def _index_text(index: Any) -> str:
    parts = index if isinstance(index, tuple) else (index,)
    return ", ".join(_slice_text(p) if isinstance(p, slice) else text_of(p) for p in parts)


def _slice_text(s: slice) -> str:
    ends = [("" if part is None else text_of(part)) for part in (s.start, s.stop)]
    return ":".join(ends if s.step is None else [*ends, text_of(s.step)])
