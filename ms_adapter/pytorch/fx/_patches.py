"""What is replaced while a function is traced: module calls, attributes of modules, wrapped functions."""

import builtins
import functools
import sys

import ms_adapter.pytorch as torch

from .proxy import Proxy

_wrapped_fns_to_patch = {}  # (id of a module's globals, name) -> those globals
_wrapped_methods_to_patch = []  # (class, name)
_MISSING = object()


class Patcher:
    """Sets attributes and globals, and puts back what was there at the end of a with block."""

    def __init__(self):
        self._undo, self._seen = [], set()

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        while self._undo:
            self._undo.pop()()
        self._seen.clear()

    def patch_global(self, space, name, make):
        """``space[name] = make(before)``; builtins count as before."""
        before = space.get(name, _MISSING)
        original = getattr(builtins, name) if before is _MISSING else before
        if getattr(original, "__fx_already_patched", False):
            return
        space[name] = make(original)
        undo = (lambda: space.pop(name)) if before is _MISSING else lambda: space.__setitem__(name, before)
        self._undo.append(undo)

    def patch_method(self, cls, name, make):
        """``cls.name = make(before)``."""
        before = vars(cls).get(name, _MISSING)
        setattr(cls, name, make(getattr(cls, name)))
        self._undo.append(
            (lambda: delattr(cls, name)) if before is _MISSING else lambda: setattr(cls, name, before)
        )

    def visit_once(self, thing):
        """True the first time, for each object."""
        first = id(thing) not in self._seen
        self._seen.add(id(thing))
        return first


def find_proxy(*values):
    """The first proxy in nested values, or None."""
    for value in values:
        if isinstance(value, Proxy):
            return value
        inside = (
            value if isinstance(value, (tuple, list)) else value.values() if isinstance(value, dict) else ()
        )
        if isinstance(value, slice):
            inside = (value.start, value.stop, value.step)
        if inside and (found := find_proxy(*inside)) is not None:
            return found
    return None


def leaf_function(original):
    """``original``, recorded as one call when a proxy is among the arguments."""

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    wrapped.__fx_already_patched = True
    return wrapped


def leaf_method(original):
    """The same for a method."""

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", original.__name__, args, kwargs)

    wrapped.__fx_already_patched = True
    return wrapped


def patch_wrapped(patcher):
    """Make leaves of all functions that :func:`wrap` was told about."""
    for (_, name), space in list(_wrapped_fns_to_patch.items()):
        if name in space or hasattr(builtins, name):
            patcher.patch_global(space, name, leaf_function)
    for cls, name in _wrapped_methods_to_patch:
        patcher.patch_method(cls, name, leaf_method)


def patch_autowrapped(patcher, space, function_ids):
    """Make leaves of the functions in a module's globals that the tracer was told to."""
    if not patcher.visit_once(space):
        return
    for name, value in list(space.items()):
        if not name.startswith("_") and callable(value) and id(value) in function_ids:
            patcher.patch_global(space, name, leaf_function)


def patch_modules(patcher, call_module, get_attribute):
    """Hand calls of modules, and what is read of their parameters, buffers and submodules, to the tracer."""
    Module = torch.nn.Module

    def make_call(original):
        def call(mod, *args, **kwargs):
            return call_module(mod, functools.partial(original, mod), args, kwargs)

        return call

    def make_getattribute(original):
        def read(mod, attr):
            return get_attribute(attr, original(mod, attr))

        return read

    patcher.patch_method(Module, "__call__", make_call)
    patcher.patch_method(Module, "__getattribute__", make_getattribute)


def wrap(fn_or_name):
    """Makes a module's function a leaf: tracing records a call of it and does not look inside.

    To be used at module level, with a name or as a decorator; returns what it is given.

    >>> import ms_adapter.pytorch as torch
    >>> @torch.fx.wrap
    ... def half(n):
    ...     return n // 2 if n > 0 else 0
    >>> len(torch.fx.symbolic_trace(lambda x: half(x) + half(3)).graph.nodes)
    4
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name of a function"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name
