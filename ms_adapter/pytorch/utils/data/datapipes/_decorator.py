"""Decorators of datapipe classes and of their functions."""

import functools
import inspect
import typing

from .datapipe import IterDataPipe, MapDataPipe

_switches = {"must be deterministic": False, "validates": True}


class functional_datapipe:  # noqa: N801 - PyTorch's name
    """Gives a class of pipes its functional form.

    >>> @functional_datapipe("twice_")
    ... class Twice(IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         return (2 * item for item in self.source)
    >>> from ms_adapter.pytorch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper([1, 2]).twice_())
    [2, 4]
    """

    def __init__(self, name, enable_df_api_tracing=False):
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls):
        owner = getattr(getattr(cls, "__self__", None), "cls", None) or getattr(cls, "cls", None) or cls
        if not isinstance(owner, type) or not issubclass(owner, (IterDataPipe, MapDataPipe)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe and MapDataPipe")
        base = IterDataPipe if issubclass(owner, IterDataPipe) else MapDataPipe
        base.register_datapipe_as_function(self.name, cls)
        return cls


class _Switch:
    """A context that sets one of the switches, from when it is made, and sets it back at its end."""

    name = value = None

    def __init__(self):
        self.prev = _switches[self.name]
        _switches[self.name] = self.value

    def __enter__(self):
        pass

    def __exit__(self, *exc_info):
        _switches[self.name] = self.prev


class guaranteed_datapipes_determinism(_Switch):  # noqa: N801 - PyTorch's name
    """A context in which making a pipe marked `non_deterministic` raises TypeError."""

    name, value = "must be deterministic", True


class runtime_validation_disabled(_Switch):  # noqa: N801 - PyTorch's name
    """A context in which `runtime_validation` checks nothing."""

    name, value = "validates", False


class non_deterministic:  # noqa: N801 - PyTorch's name
    """Marks a class of pipes, or with a function of its arguments some of them, as not deterministic."""

    def __init__(self, arg):
        self.cls = self.deterministic_fn = None
        if isinstance(arg, type):
            self._take(arg)
        elif callable(arg):
            self.deterministic_fn = arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def _take(self, cls):
        if not isinstance(cls, type) or not issubclass(cls, IterDataPipe):
            raise TypeError(
                f"Only `IterDataPipe` can be decorated with `non_deterministic`, but {cls} is found"
            )
        self.cls = cls

    def __call__(self, *args, **kwargs):
        if self.cls is None:
            self._take(args[0])
            return self._make
        return self._make(*args, **kwargs)

    def _make(self, *args, **kwargs):
        varies = True if self.deterministic_fn is None else self.deterministic_fn(*args, **kwargs)
        if not isinstance(varies, bool):
            raise TypeError(
                "deterministic_fn of `non_deterministic` decorator is required to return a boolean value, "
                f"but {type(varies)} is found"
            )
        if _switches["must be deterministic"] and varies:
            raise TypeError(
                f"{self.cls.__name__} is non-deterministic, but you set 'guaranteed_datapipes_determinism'"
            )
        return self.cls(*args, **kwargs)


def argument_validation(f):
    """Check that arguments which are annotated as datapipes are such: TypeError where they are not."""
    signature, hints = inspect.signature(f), typing.get_type_hints(f)

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            hint = hints.get(name)
            wanted = isinstance(hint, type) and issubclass(hint, IterDataPipe)
            if wanted and not isinstance(value, IterDataPipe):
                raise TypeError(f"Expected argument {name!r} as a IterDataPipe, but found {type(value)}")
        return f(*args, **kwargs)

    return wrapper


def runtime_validation(f):
    """Check what an ``__iter__`` gives against its annotation ``Iterator[T]``, as far as T is a class."""
    if f.__name__ != "__iter__":
        raise TypeError(f"Can not decorate function {f.__name__} with 'runtime_validation'")
    expected = typing.get_args(typing.get_type_hints(f).get("return"))
    classes = tuple(cls for cls in expected if isinstance(cls, type) and not typing.get_args(cls))

    @functools.wraps(f)
    def wrapper(self):
        for item in f(self):
            if _switches["validates"] and classes and not isinstance(item, classes):
                raise RuntimeError(f"Expected an instance of {classes[0]}, but found {item}({type(item)})")
            yield item

    return wrapper
