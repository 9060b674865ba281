"""torch.overrides: how classes outside take over our functions, and modes that see every call."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
]

has_torch_function = _C._has_torch_function
has_torch_function_unary = _C._has_torch_function_unary
has_torch_function_variadic = _C._has_torch_function_variadic


def is_tensor_like(inp):
    """Whether ``inp`` is a tensor, or an object whose class has ``__torch_function__``."""
    return isinstance(inp, torch.Tensor) or hasattr(inp, "__torch_function__")


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Ask the ``__torch_function__`` of ``relevant_args`` in turn to compute ``public_api(*args, **kwargs)``.

    Subclasses come before their bases, otherwise the order is that of the arguments.
    """
    owners = _overriding(relevant_args)
    types = tuple(map(type, owners))
    for owner in owners:
        result = type(owner).__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    raise TypeError(
        f"no implementation found for '{public_api.__module__}.{public_api.__name__}' on types that "
        f"implement __torch_function__: {[cls.__name__ for cls in types]}"
    )


def _overriding(args):
    """One argument of each class that overrides."""
    found = []
    for arg in args:
        cls = type(arg)
        if (
            not hasattr(cls, "__torch_function__")
            or cls is torch.Tensor
            or any(type(o) is cls for o in found)
        ):
            continue
        place = next((i for i, o in enumerate(found) if issubclass(cls, type(o))), len(found))
        found.insert(place, arg)
    return found


class TorchFunctionMode:
    """Inside, every call of our functions goes to ``__torch_function__`` of this object first.

    >>> import ms_adapter.pytorch as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     _ = torch.add(torch.ones(1), 1)
    ones
    add
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{type(self).__name__} does not define __torch_function__.")

    def __enter__(self):
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, *exc_info):
        _C._pop_torch_function_stack()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that passes every call on."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))
