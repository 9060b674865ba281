"""Switching gradient recording on and off: context managers that also decorate functions and generators."""

import functools
import inspect
import warnings

from ms_adapter import _C

_native = _C.autograd

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]


class _Mode:
    """A context manager that also decorates; subclasses say how to enter and leave."""

    def __init__(self):
        self._outer = []  # the states to go back to, innermost last: the object may be entered again

    def clone(self):
        """A fresh context of the same kind: decorated functions take one for each call."""
        return type(self)()

    def __enter__(self):
        self._outer.append(self._switch())

    def __exit__(self, *exc_info):
        self._restore(self._outer.pop())

    def __call__(self, function):
        if inspect.isclass(function):
            warnings.warn(
                f"Decorating classes is deprecated: only the __init__ of {function.__name__} would run under "
                f"{type(self).__name__}. Decorate its methods instead.",
                FutureWarning,
                stacklevel=2,
            )
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return _wrap_generator(function, self.clone)

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return wrapper


def _wrap_generator(function, context):
    """A generator whose body runs under ``context()``, and whose caller does not, between two values too."""

    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        generator = function(*args, **kwargs)
        try:
            with context():
                response = generator.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with context():
                        generator.close()
                    raise
                except BaseException as err:
                    with context():
                        response = generator.throw(err)
                else:
                    with context():
                        response = generator.send(request)
        except StopIteration as stop:
            return stop.value

    return wrapper


class _GradMode(_Mode):
    """Recording set to ``_enabled`` inside."""

    def _switch(self):
        outer = _native.is_grad_enabled()
        _native.set_grad_enabled(self._enabled)
        return outer

    def _restore(self, outer):
        _native.set_grad_enabled(outer)


class _NoArguments(_GradMode):
    """A mode without arguments, also used as a decorator without parentheses."""

    def __new__(cls, function=None):
        if function is None:
            return super().__new__(cls)
        return cls()(function)

    def __init__(self, function=None):
        super().__init__()


class no_grad(_NoArguments):
    """Nothing is recorded inside: results do not require gradients.

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.tensor([1.0], requires_grad=True)
    >>> with torch.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    _enabled = False


class enable_grad(_NoArguments):
    """Operations are recorded inside, also within ``no_grad``."""

    _enabled = True


class set_grad_enabled(_GradMode):
    """Recording set to ``mode``, from the call on; used as a context manager, until its end."""

    def __init__(self, mode):
        super().__init__()
        self.mode = self._enabled = bool(mode)
        self._before = self._switch()

    def __call__(self, function):
        _native.set_grad_enabled(self._before)  # a decorator must not act where it is written
        return super().__call__(function)

    def __enter__(self):
        self._switch()

    def __exit__(self, *exc_info):
        self._restore(self._before)

    def clone(self):
        return type(self)(self.mode)

    def __repr__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class inference_mode(_Mode):
    """Like ``no_grad``, and new tensors carry no version or view tracking: they can never be recorded.

    >>> import ms_adapter.pytorch as torch
    >>> with torch.inference_mode():
    ...     y = torch.ones(1)
    >>> y.is_inference()
    True
    """

    def __new__(cls, mode=True):
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode=True):
        super().__init__()
        self.mode = mode

    def clone(self):
        return type(self)(self.mode)

    def _switch(self):
        outer = _native.is_inference_mode_enabled(), _native.is_grad_enabled()
        _native.set_inference_mode(self.mode)
        _native.set_grad_enabled(not self.mode)
        return outer

    def _restore(self, outer):
        inference, grad = outer
        _native.set_inference_mode(inference)
        _native.set_grad_enabled(grad)


class set_multithreading_enabled(_Mode):
    """Accepted for PyTorch's sake: the backward pass runs on the calling thread here."""

    def __init__(self, mode):
        super().__init__()
        self.mode = mode

    def clone(self):
        return type(self)(self.mode)

    def _switch(self):
        return None

    def _restore(self, outer):
        pass
