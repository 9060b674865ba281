"""What stands between an operator here and a MindSpore callable that nearly does it.

An adapter is a function `adapter(function, out, *args)`: the callable that the row names; the shape and
dtype of each result, as the row's rules say; the row's arguments, tensors as MindSpore's. It gives a
MindSpore tensor, or a tuple of them, or `NotImplemented` where the callable cannot do what is asked.
Rows name it before the callable: `ms = ["along:ops.amax"]`.
"""

from __future__ import annotations

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
    direct: bool = False, empty: bool = False, data: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Makes a function an adapter by its own name."""

    def add(run: Callable[..., Any]) -> Callable[..., Any]:
        _all[run.__name__] = Adapter(run, direct, empty, data)
        return run

    return add


def find(name: str) -> Adapter:
    """The adapter that a row names."""
    if not _all:
        for module in MODULES:
            importlib.import_module(f"{__name__}.{module}")
    return _all[name]
