"""Small names of MindSpore's interface: data_sink, jit."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from .bridge import is_ours
from .model import batches


def data_sink(
    fn: Callable[..., Any], dataset: Any, sink_size: int = 1, jit_config: Any = None
) -> Callable[[], Any]:
    """A function without arguments that calls `fn` with the dataset's next `sink_size` batches; gives the
    last result.

    The dataset begins anew when it ends. Here nothing is sunk: the batches are handed over one by one.
    """
    source: list[Iterator[tuple[Any, ...]]] = []

    def next_batch() -> tuple[Any, ...]:
        if source and (batch := next(source[0], None)) is not None:
            return batch
        source[:] = [batches(dataset)]
        return next(source[0])

    @functools.wraps(fn)
    def run() -> Any:
        result = None
        for _ in range(max(sink_size, 1)):
            result = fn(*next_batch())
        return result

    return run


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`mindspore.jit` for functions of MindSpore's tensors; functions of ours run as they are, op by op."""
    if fn is None:
        return functools.partial(jit, **options)
    compiled: list[Any] = []

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        from ._package import installed, mindspore

        if not installed() or is_ours(list(args)) or is_ours(list(kwargs.values())):
            return fn(*args, **kwargs)
        if not compiled:
            compiled.append(mindspore().jit(fn, **options))
        return compiled[0](*args, **kwargs)

    return run
