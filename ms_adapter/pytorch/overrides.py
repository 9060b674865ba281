"""torch.overrides: how classes outside take over our functions, and modes that see every call."""

import functools
import inspect

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_overridable_functions",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]

has_torch_function = _C._has_torch_function
has_torch_function_unary = _C._has_torch_function_unary
has_torch_function_variadic = _C._has_torch_function_variadic


def is_tensor_like(inp):
    """Whether ``inp`` is a tensor, or an object whose class has ``__torch_function__``."""
    return isinstance(inp, torch.Tensor) or hasattr(inp, "__torch_function__")


@functools.cache
def _overridable():
    """(namespaces to their overridable functions, function to dotted name)."""
    found, names = {}, {}
    for dotted, function in _C.functions.items():
        space, _, name = dotted.rpartition(".")
        space = torch if not space else functools.reduce(getattr, space.split("."), torch)
        found.setdefault(space, []).append(function)
        names.setdefault(function, f"torch.{dotted}")
    for space in (torch.functional, torch.nn.functional):  # what is written in Python there
        for name, function in vars(space).items():
            if isinstance(function, _C.overridable):
                found.setdefault(space, []).append(function)
                names.setdefault(function, f"torch{space.__name__.removeprefix(torch.__name__)}.{name}")
    for name in dir(torch.Tensor):
        member = getattr(torch.Tensor, name)
        if name in vars(object) or name.startswith("__torch_"):
            continue
        if callable(member):
            found.setdefault(torch.Tensor, []).append(member)
            names.setdefault(member, f"torch.Tensor.{name}")
        elif inspect.isdatadescriptor(member):
            found.setdefault(member, []).append(member.__get__)
            names.setdefault(member.__get__, f"torch.Tensor.{name}.__get__")
    return found, names


def get_overridable_functions():
    """The functions that ``__torch_function__`` may take over, by the namespace they are in.

    >>> import ms_adapter.pytorch as torch
    >>> torch.add in get_overridable_functions()[torch]
    True
    """
    return {space: list(functions) for space, functions in _overridable()[0].items()}


def resolve_name(f):
    """The dotted name of a function that ``__torch_function__`` got, or None of others.

    >>> import ms_adapter.pytorch as torch
    >>> resolve_name(torch.add), resolve_name(torch.Tensor.add)
    ('torch.add', 'torch.Tensor.add')
    """
    return _overridable()[1].get(f)


def is_tensor_method_or_property(func):
    """Whether a function is a method of tensors, or reads or writes one of their properties."""
    return func in get_overridable_functions()[torch.Tensor] or getattr(func, "__name__", "") == "__get__"


def wrap_torch_function(dispatcher):
    """Decorates a function so that ``__torch_function__`` of its arguments may take it over.

    ``dispatcher`` takes the function's arguments and gives those to ask.

    >>> import ms_adapter.pytorch as torch
    >>> @wrap_torch_function(lambda x: (x,))
    ... def double(x):
    ...     return x * 2
    >>> double(torch.tensor(2))
    tensor(4)
    """

    def decorate(function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(wrapped, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped

    return decorate


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
        disabled = getattr(cls, "__torch_function__", None) in (None, _C._disabled_torch_function_impl)
        if disabled or any(type(o) is cls for o in found):
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
