"""What stands between an operator here and a MindSpore callable that nearly does it.

An adapter is a function `adapter(function, out, *args)`: the callable that the row names; the shape and
dtype of each result, as the row's rules say; the row's arguments, tensors as MindSpore's. It gives a
MindSpore tensor, or a tuple of them, or `NotImplemented` where the callable cannot do what is asked.
Rows name it before the callable: `ms = ["along:ops.amax"]`.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any, NamedTuple

MODULES = (
    "elementwise",
    "formulas",
    "special",
    "reduce",
    "product",
    "index",
    "window",
    "layer",
    "order",
    "linalg",
    "random",
)


class Adapter(NamedTuple):
    """An adapter and what it can be asked for."""

    run: Callable[..., Any]
    direct: bool  # the callable itself does it where all operands have the result's dtype
    empty: bool  # takes operands without elements
    data: bool  # the results' shapes are known only after the call


_all: dict[str, Adapter] = {}


def adapter(
    direct: bool = False, empty: bool = False, data: bool = False, lift: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function an adapter by its own name; with `lift` it sees tensors without dimensions as vectors
    of one element, as MindSpore's callables along a dimension want them."""

    def add(run: Callable[..., Any]) -> Callable[..., Any]:
        _all[run.__name__] = Adapter(_lifting(run) if lift else run, direct, empty, data)
        return run

    return add


def _lifting(run: Callable[..., Any]) -> Callable[..., Any]:
    """The adapter on vectors, whose results get the shapes that the rules say."""

    @functools.wraps(run)
    def call(function: Any, out: Any, *args: Any) -> Any:
        if args[0].ndim > 1 or not any(getattr(a, "ndim", 1) == 0 for a in args):
            return run(function, out, *args)
        given = [a.reshape(1) if getattr(a, "ndim", 1) == 0 else a for a in args]
        found = run(function, tuple((shape or (1,), dtype) for shape, dtype in out), *given)
        if found is NotImplemented:
            return found
        several = isinstance(found, tuple)
        parts = [t.reshape(shape) for t, (shape, _) in zip(found if several else (found,), out)]
        return tuple(parts) if several else parts[0]

    return call


@functools.cache
def _load() -> None:
    for module in MODULES:
        importlib.import_module(f"{__name__}.{module}")


def find(name: str) -> Adapter:
    """The adapter that a row names."""
    _load()
    return _all[name]
