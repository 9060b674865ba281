"""What several datapipes share: checks of functions, finding and opening files."""

import fnmatch
import functools
import inspect
import os
import warnings
from collections.abc import Iterable, Sized

from ..datapipe import DataChunk

__all__ = [
    "StreamWrapper",
    "get_file_binaries_from_pathnames",
    "get_file_pathnames_from_root",
    "match_masks",
    "validate_input_col",
]


def columns(data, input_col):
    """The arguments that ``input_col`` picks out of an item."""
    if input_col is None:
        return (data,)
    if isinstance(input_col, (list, tuple)):
        return tuple(data[column] for column in input_col)
    return (data[input_col],)


def length_of(pipe, source, count=len):
    """The length of a pipe over a source, or TypeError where the source has none."""
    if not isinstance(source, Sized):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return count(source)


class InBatches:
    """What pipes share that give lists of ``batch_size`` items of a source."""

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __len__(self):
        extra = 0 if self.drop_last else self.batch_size - 1
        return length_of(self, self.datapipe, lambda source: (len(source) + extra) // self.batch_size)


def validate_input_col(fn, input_col):
    """Raise ValueError where a function cannot be called with as many values as ``input_col`` gives.

    >>> validate_input_col(lambda a, b: a, [0])
    Traceback (most recent call last):
    ValueError: The function <lambda> cannot be called with 1 value(s): missing a required argument: 'b'.
    """
    try:
        signature = inspect.signature(fn)
    except ValueError:  # of C, which does not tell
        return
    count = len(input_col) if isinstance(input_col, (list, tuple)) else 1
    try:
        signature.bind(*range(count))
    except TypeError as error:
        name = getattr(getattr(fn, "func", fn), "__name__", repr(fn))
        raise ValueError(f"The function {name} cannot be called with {count} value(s): {error}.") from None


def check_picklable(fn):
    """TypeError where ``fn`` is no function; a warning where workers started by spawn could not get it."""
    if not callable(fn):
        raise TypeError(f"A callable function is expected, but {type(fn)} is provided.")
    plain = fn.func if isinstance(fn, functools.partial) else fn
    if "<lambda>" in getattr(plain, "__qualname__", "") or "<locals>" in getattr(plain, "__qualname__", ""):
        kind = "Lambda" if getattr(plain, "__name__", "") == "<lambda>" else "Local"
        warnings.warn(
            f"{kind} function is not supported by pickle, please use regular python function or "
            "functools.partial instead.",
            stacklevel=3,
        )


def match_masks(name, masks):
    """Whether a file name fits one of the patterns; no patterns fit all."""
    patterns = [masks] if isinstance(masks, str) else masks
    return not masks or any(fnmatch.fnmatch(name, pattern) for pattern in patterns)


def get_file_pathnames_from_root(root, masks, recursive=False, abspath=False, non_deterministic=False):
    """The paths of the files below a folder, in order of their names, or of ``root`` if it is a file."""

    def complain(error):
        warnings.warn(f"{error.filename} : {error.strerror}", stacklevel=2)
        raise error

    if os.path.isfile(root):
        if match_masks(os.path.basename(root), masks):
            yield os.path.abspath(root) if abspath else root
        return
    for path, folders, files in os.walk(root, onerror=complain):
        if not non_deterministic:
            files.sort()
            folders.sort()
        for file in files:
            if match_masks(file, masks):
                yield os.path.join(os.path.abspath(path) if abspath else path, file)
        if not recursive:
            return


def get_file_binaries_from_pathnames(pathnames, mode, encoding=None):
    """(path, open file) of each path."""
    if not isinstance(pathnames, Iterable):
        pathnames = [pathnames]
    for pathname in pathnames:
        if not isinstance(pathname, str):
            raise TypeError(f"Expected string type for pathname, but got {type(pathname)}")
        full_mode = mode if mode.startswith("r") else "r" + mode
        yield pathname, StreamWrapper(open(pathname, full_mode, encoding=encoding))  # noqa: SIM115 - the reader's


class StreamWrapper:
    """A file that is closed when nothing refers to it any more."""

    def __init__(self, file_obj, parent_stream=None, name=None):
        self.file_obj = file_obj
        self.name = name
        self.closed = False
        self.parent_stream = parent_stream

    @classmethod
    def close_streams(cls, value, depth=0):
        """Close the streams in an item that is dropped, within containers too."""
        if depth > 10:
            return
        if isinstance(value, cls):
            value.close()
        elif isinstance(value, dict):
            cls.close_streams(list(value.values()), depth + 1)
        elif isinstance(value, (list, tuple)):
            for item in value:
                cls.close_streams(item, depth + 1)

    def close(self, *args, **kwargs):
        """Close the file; a second call does nothing."""
        if not self.closed:
            self.closed = True
            self.file_obj.close(*args, **kwargs)

    def __getattr__(self, name):
        return getattr(self.__dict__["file_obj"], name)

    def __iter__(self):
        yield from self.file_obj

    def __next__(self):
        return next(self.file_obj)

    def __del__(self):
        if not self.__dict__.get("closed", True):
            self.close()

    def __repr__(self):
        return f"StreamWrapper<{self.file_obj!r}>"

    def __getstate__(self):
        return self.file_obj

    def __setstate__(self, file_obj):
        self.__init__(file_obj)
