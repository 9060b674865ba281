"""Pipes that a chain begins with: iterables, files and what is in them."""

import copy
import warnings

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import get_file_binaries_from_pathnames, get_file_pathnames_from_root, length_of


class IterableWrapperIterDataPipe(IterDataPipe):
    """The items of an iterable, with ``deepcopy`` of a copy for each iteration.

    >>> list(IterableWrapperIterDataPipe(range(3)))
    [0, 1, 2]
    """

    def __init__(self, iterable, deepcopy=True):
        self.iterable = iterable
        self.deepcopy = deepcopy

    def __iter__(self):
        source = self.iterable
        if self.deepcopy:
            try:
                source = copy.deepcopy(source)
            except TypeError:
                warnings.warn(
                    "The input iterable can not be deepcopied, please be aware of in-place modification "
                    "would affect source data.",
                    stacklevel=2,
                )
        yield from source

    def __len__(self):
        return length_of(self, self.iterable)


class _GivenLength:
    """Pipes whose length is what they were told, if anything."""

    length = -1

    def __len__(self):
        if self.length == -1:
            raise TypeError(f"{type(self).__name__} instance doesn't have valid length")
        return self.length


@functional_datapipe("list_files")
class FileListerIterDataPipe(_GivenLength, IterDataPipe):
    """The paths of the files below folders.

    Args:
        root: a folder, several, or a pipe of them.
        masks: a pattern of file names or several, as "*.png".
        recursive: also of folders in these folders.
        abspath: absolute paths.
        non_deterministic: in the order of the file system, not of the names.
        length: what ``len`` says.
    """

    def __init__(
        self, root=".", masks="", *, recursive=False, abspath=False, non_deterministic=False, length=-1
    ):
        roots = [root] if isinstance(root, str) else root
        self.datapipe = roots if isinstance(roots, IterDataPipe) else IterableWrapperIterDataPipe(roots)
        self.masks = masks
        self.recursive = recursive
        self.abspath = abspath
        self.non_deterministic = non_deterministic
        self.length = length

    def __iter__(self):
        for path in self.datapipe:
            yield from get_file_pathnames_from_root(
                path, self.masks, self.recursive, self.abspath, self.non_deterministic
            )


@functional_datapipe("open_files")
class FileOpenerIterDataPipe(_GivenLength, IterDataPipe):
    """(path, open file) for each path; ``mode`` is "r", "b" or "t" or two of them."""

    def __init__(self, datapipe, mode="r", encoding=None, length=-1):
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ValueError(f"Invalid mode {mode}")
        if "b" in mode and encoding is not None:
            raise ValueError("binary mode doesn't take an encoding argument")
        self.datapipe = datapipe
        self.mode = mode
        self.encoding = encoding
        self.length = length

    def __iter__(self):
        yield from get_file_binaries_from_pathnames(self.datapipe, self.mode, self.encoding)


@functional_datapipe("read_from_stream")
class StreamReaderIterDataPipe(IterDataPipe):
    """(label, contents) for each (label, open file), with ``chunk`` in pieces of so many bytes.

    >>> import io
    >>> pipe = IterableWrapperIterDataPipe([("a", io.StringIO("xyz"))], deepcopy=False)
    >>> list(pipe.read_from_stream(chunk=2))
    [('a', 'xy'), ('a', 'z')]
    """

    def __init__(self, datapipe, chunk=None):
        self.datapipe = datapipe
        self.chunk = chunk

    def __iter__(self):
        for label, stream in self.datapipe:
            while piece := stream.read(self.chunk):
                yield label, piece
            stream.close()


@functional_datapipe("routed_decode")
class RoutedDecoderIterDataPipe(IterDataPipe):
    """Deprecated in PyTorch since 1.12, and not here: it raises NotImplementedError."""

    def __init__(self, datapipe, *handlers, key_fn=None):
        raise NotImplementedError(
            "RoutedDecoder is not supported (PyTorch deprecated it in 1.12): decode with .map(fn), whose "
            "function gets the (path, stream) pairs."
        )
