"""The rule of one iterator for each IterDataPipe: a new one resets the pipe and ends the older ones."""

import functools
import inspect

_RULE = (
    "a newer iterator was made from the same pipe, {}: each pipe has one at a time (single iterator per "
    "IterDataPipe constraint). Use .fork() to read a pipe twice."
)


def describe(pipe):
    """A pipe with the arguments that it was made with, as far as it keeps them."""
    names = inspect.signature(type(pipe)).parameters
    given = ((name, vars(pipe)[name]) for name in names if name in vars(pipe))
    text = ", ".join(f"{name}={getattr(value, '__name__', repr(value))}" for name, value in given)
    return f"{type(pipe).__name__}({text})"


def _begin(pipe):
    """Start a new iteration; returns its number."""
    begin = getattr(pipe, "_begin_as_child", None)
    if begin is not None:
        return begin()
    pipe._valid_iterator_id = 0 if pipe._valid_iterator_id is None else pipe._valid_iterator_id + 1
    pipe.reset()
    return pipe._valid_iterator_id


def _check(pipe, number):
    is_valid = getattr(pipe, "_is_valid_as_child", None)
    if pipe._valid_iterator_id != number or (is_valid is not None and not is_valid(number)):
        raise RuntimeError("This iterator has been invalidated: " + _RULE.format(describe(pipe)))


def _explain(error, pipe):
    """Add to an exception which pipe it came through; the first that sees it says so."""
    said = error.args[0] if error.args and isinstance(error.args[0], str) else ""
    if "thrown by __iter__ of" not in said and "single iterator per" not in said:
        text = f"{said}\nThis exception is thrown by __iter__ of {describe(pipe)}"
        error.args = (text, *error.args[1:])


class _Checked:
    """An iterator of a pipe that is asked for its validity each time."""

    def __init__(self, iterator, pipe, number):
        self._iterator, self._pipe, self._number = iterator, pipe, number

    def __iter__(self):
        return self

    def __next__(self):
        _check(self._pipe, self._number)
        item = next(self._iterator)
        self._pipe._number_of_samples_yielded += 1
        return item

    def __getattr__(self, name):
        return getattr(self._iterator, name)


def hooked_iter(method):
    """An ``__iter__`` that keeps the rule. That of a generator begins with the first item asked for."""
    if not inspect.isgeneratorfunction(method):

        @functools.wraps(method)
        def plain(self):
            iterator = method(self)
            return _Checked(iterator, self, _begin(self))

        return plain

    @functools.wraps(method)
    def generating(self):
        number = _begin(self)
        try:
            for item in method(self):
                self._number_of_samples_yielded += 1
                yield item
                _check(self, number)
        except Exception as error:
            _explain(error, self)
            raise

    return generating


def hooked_reset(method):
    """A ``reset`` that also forgets how many samples were given."""

    @functools.wraps(method)
    def reset(self):
        self._number_of_samples_yielded = 0
        method(self)

    return reset
