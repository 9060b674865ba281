"""__torch_dispatch__: modes that see every operator, and helpers for tensor classes that do."""

import contextlib

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_traceable_wrapper_subclass",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """Inside, every operator goes to ``__torch_dispatch__`` of this object first, the last mode entered
    first.

    ``func`` is an overload such as ``torch.ops.aten.mul.Tensor``; functions made of several operators are
    seen as these. While a mode is asked it does not see what it calls itself. Gradients are recorded by what
    the mode calls.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.utils._python_dispatch import TorchDispatchMode
    >>> class Log(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x = torch.ones(2)
    >>> with Log():
    ...     _ = torch.relu(x * 2)
    aten.mul.Tensor
    aten.relu.default
    """

    def __init__(self, _dispatch_key=None):
        super().__init__()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_dispatch__.")

    def __enter__(self):
        _C._push_on_torch_dispatch_stack(self)
        return self

    def __exit__(self, *exc_info):
        _C._pop_torch_dispatch_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        """A new mode, to be entered."""
        return cls(*args, **kwargs)

    @classmethod
    def is_infra_mode(cls):
        """False: PyTorch's own modes of this kind are not here."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that passes every operator on."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode():
    """The mode that is asked first here, or None."""
    count = _C._len_torch_dispatch_stack()
    return _C._get_dispatch_stack_at(count - 1) if count else None


def _get_current_dispatch_mode_stack():
    """The modes that are asked here, the first one last."""
    return [_C._get_dispatch_stack_at(i) for i in range(_C._len_torch_dispatch_stack())]


@contextlib.contextmanager
def _pop_mode_temporarily(k=None):
    """Inside, the mode that is asked first is not there."""
    mode = _C._pop_torch_dispatch_stack()
    try:
        yield mode
    finally:
        _C._push_on_torch_dispatch_stack(mode)


@contextlib.contextmanager
def _disable_current_modes():
    """Inside, no mode is there."""
    taken = [_C._pop_torch_dispatch_stack() for _ in range(_C._len_torch_dispatch_stack())]
    try:
        yield taken
    finally:
        for mode in reversed(taken):
            _C._push_on_torch_dispatch_stack(mode)


class _DisableTorchDispatch:
    """Inside, classes with ``__torch_dispatch__`` are not asked: operators run on the data behind them."""

    def __enter__(self):
        _C._switch_torch_dispatch_off(True)
        return self

    def __exit__(self, *exc_info):
        _C._switch_torch_dispatch_off(False)


def is_traceable_wrapper_subclass(t):
    """Whether a tensor, or its class, says what it is made of: ``__tensor_flatten__`` and
    ``__tensor_unflatten__``.
    """
    cls = t if isinstance(t, type) else type(t)
    other = issubclass(cls, torch.Tensor) and cls not in (torch.Tensor, torch.nn.Parameter)
    return other and hasattr(cls, "__tensor_flatten__") and hasattr(cls, "__tensor_unflatten__")


def is_traceable_wrapper_subclass_type(t):
    """The same for a class."""
    return is_traceable_wrapper_subclass(t)


def transform_subclass(t, callback, outer_size=None, outer_stride=None):
    """A tensor like ``t`` whose parts are ``callback(name, part)``."""
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    size = t.size() if outer_size is None else outer_size
    stride = t.stride() if outer_stride is None else outer_stride
    return type(t).__tensor_unflatten__(parts, context, size, stride)


def return_and_correct_aliasing(func, args, kwargs, out):
    """``out``, or for operators that write to an argument that argument itself, as the schema says.

    To be used at the end of ``__torch_dispatch__`` of wrapper classes.
    """
    schema = func._schema
    if not schema.is_mutable:
        return out
    written = []
    for i, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            written.append(args[i] if i < len(args) else (kwargs or {}).get(argument.name))
    returned = [r for r in schema.returns if r.alias_info is not None]
    if not returned:
        return out
    return written[0] if len(written) == 1 else type(out)(written)


_C._DisableTorchDispatch = _DisableTorchDispatch
# What super().__torch_dispatch__(...) of a class reaches.
_C.install_tensor_methods({"__torch_dispatch__": _C._disabled_torch_dispatch_impl})
