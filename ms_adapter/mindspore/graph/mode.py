"""GRAPH_MODE for our modules and functions: what is called from outside runs by captured graphs."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from ms_adapter import _C
from ms_adapter.capture.compiled import Compiled

GRAPH_MODE = 0
_on = False
_modules: weakref.WeakKeyDictionary[Any, Compiled] = weakref.WeakKeyDictionary()


def follow(mode: int | None) -> None:
    """Does what `set_context(mode=...)` was told; None changes nothing."""
    global _on
    if mode is None or _on == (mode == GRAPH_MODE):
        return
    _on = mode == GRAPH_MODE
    from ms_adapter.pytorch import nn

    if _on:
        _plain_call(nn.Module)
        nn.Module.__call__ = _call
    else:
        del nn.Module.__call__


@functools.cache
def _plain_call(base: Any) -> Callable[..., Any]:
    """What a call of a module is without graphs."""
    return base.__call__


def _call(module: Any, *args: Any, **kwargs: Any) -> Any:
    """A module's call in GRAPH_MODE: modules that others call are part of their graphs."""
    from ms_adapter.pytorch import nn

    plain = _plain_call(nn.Module)
    if _C.capture.active():
        return plain(module, *args, **kwargs)
    if module not in _modules:
        _modules[module] = compiled(_Plain(weakref.ref(module)))
    return _modules[module](*args, **kwargs)


class _Plain:
    """A module's call without graphs; it does not keep the module."""

    def __init__(self, module: weakref.ref[Any]) -> None:
        self._module = module
        self.__qualname__ = type(module()).__qualname__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from ms_adapter.pytorch import nn

        return _plain_call(nn.Module)(self._module(), *args, **kwargs)


def compiled(fn: Callable[..., Any]) -> Compiled:
    """The function by graphs that MindSpore compiles."""
    from . import compile_graph

    return Compiled(fn, compile_graph, "GRAPH_MODE")


def in_graph_mode(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function that runs by graphs while GRAPH_MODE is set."""
    made: list[Compiled] = []

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        if not _on or _C.capture.active():
            return fn(*args, **kwargs)
        if not made:
            made.append(compiled(fn))
        return made[0](*args, **kwargs)

    return run
