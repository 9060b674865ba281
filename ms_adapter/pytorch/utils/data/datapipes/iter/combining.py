"""Pipes that read several others."""

from collections.abc import Sized

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from .branching import DemultiplexerIterDataPipe, ForkerIterDataPipe

__all__ = [
    "ConcaterIterDataPipe",
    "DemultiplexerIterDataPipe",
    "ForkerIterDataPipe",
    "MultiplexerIterDataPipe",
    "ZipperIterDataPipe",
]


def _lengths(pipe):
    if not all(isinstance(source, Sized) for source in pipe.datapipes):
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length")
    return [len(source) for source in pipe.datapipes]


def _check_pipes(pipe, datapipes):
    if not all(isinstance(source, IterDataPipe) for source in datapipes):
        raise TypeError(f"All inputs are required to be `IterDataPipe` for `{type(pipe).__name__}`.")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """The items of one pipe after those of another."""

    def __init__(self, *datapipes):
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        _check_pipes(self, datapipes)
        self.datapipes = datapipes

    def __iter__(self):
        for source in self.datapipes:
            yield from source

    def __len__(self):
        return sum(_lengths(self))


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of one item from each pipe, until one has no more."""

    def __init__(self, *datapipes):
        _check_pipes(self, datapipes)
        self.datapipes = datapipes

    def __iter__(self):
        yield from zip(*map(iter, self.datapipes), strict=False)

    def __len__(self):
        return min(_lengths(self))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One item from each pipe in turn, until one has no more; an incomplete turn is left out."""

    def __init__(self, *datapipes):
        self.datapipes = datapipes

    def __iter__(self):
        for turn in zip(*map(iter, self.datapipes), strict=False):
            yield from turn

    def __len__(self):
        return min(_lengths(self)) * len(self.datapipes)
