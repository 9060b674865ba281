"""The bases of datapipes, which find functional forms by name: ``pipe.map(fn)``."""

import functools

from ..dataset import Dataset, IterableDataset
from ._iterators import hooked_iter, hooked_reset

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]


class DataChunk(list):
    """A batch that a pipe makes.

    >>> DataChunk([1, 2]).as_str(indent="  ")
    '  [1, 2]'
    """

    def __init__(self, items):
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent=""):
        """The items as text."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self):
        """The items as they are."""
        yield from self.items


class _Functional:
    """What both kinds of pipes share: functional forms, and the hooks that graph walks need."""

    getstate_hook = None  # what of a pipe's state a pickle takes
    reduce_ex_hook = None  # what a pickle makes of a pipe
    functions: dict = {}

    def __getattr__(self, name):
        function = type(self).functions.get(name)
        if function is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return functools.partial(function, self)

    @classmethod
    def register_function(cls, function_name, function):
        """Let ``pipe.function_name(...)`` call ``function(pipe, ...)``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name, cls_to_register, enable_df_api_tracing=False):
        """Let ``pipe.function_name(...)`` make a pipe of a class."""
        if function_name in cls.functions:
            raise Exception(  # noqa: TRY002 - PyTorch's type
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )
        cls.functions[function_name] = cls_to_register

    @classmethod
    def set_getstate_hook(cls, hook_fn):
        """Set or, with None, remove the hook; RuntimeError where there is one already."""
        if cls.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls.getstate_hook = None if hook_fn is None else staticmethod(hook_fn)

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn):
        """Set or, with None, remove the hook; RuntimeError where there is one already."""
        if cls.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls.reduce_ex_hook = None if hook_fn is None else staticmethod(hook_fn)

    def __getstate__(self):
        return self._hooked_state(self.__dict__)

    def _hooked_state(self, state):
        return state if type(self).getstate_hook is None else type(self).getstate_hook(state)

    def __reduce_ex__(self, protocol):
        if type(self).reduce_ex_hook is not None:
            try:
                return type(self).reduce_ex_hook(self)
            except NotImplementedError:
                pass
        return super().__reduce_ex__(protocol)

    def __repr__(self):
        return type(self).__qualname__

    def __dir__(self):
        return [*super().__dir__(), *self.functions]


class IterDataPipe(_Functional, IterableDataset):
    """A stream as a step of a chain: subclasses define ``__iter__``, and ``reset`` where they keep state.

    A pipe has one iterator at a time: making a new one resets the pipe, and the older raises RuntimeError.

    >>> from ms_adapter.pytorch.utils.data.datapipes.iter import IterableWrapper
    >>> list(IterableWrapper(range(6)).filter(filter_fn=bool).batch(2))
    [[1, 2], [3, 4], [5]]
    """

    functions: dict = {}
    _valid_iterator_id = None
    _number_of_samples_yielded = 0

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name, hooked in (("__iter__", hooked_iter), ("reset", hooked_reset)):
            if name in vars(cls):
                setattr(cls, name, hooked(vars(cls)[name]))

    def __iter__(self):
        return self

    def reset(self):
        """Called when a new iteration begins."""
        self._number_of_samples_yielded = 0


class DFIterDataPipe(IterDataPipe):
    """A stream of data frames."""

    def _is_dfpipe(self):
        return True


class MapDataPipe(_Functional, Dataset):
    """Samples by key as a step of a chain: subclasses define ``__getitem__`` and as a rule ``__len__``.

    >>> from ms_adapter.pytorch.utils.data.datapipes.map import SequenceWrapper
    >>> SequenceWrapper([1, 2, 3]).map(float)[1]
    2.0
    """

    functions: dict = {}
