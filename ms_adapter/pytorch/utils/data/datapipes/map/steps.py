"""Pipes by key: over sequences, by functions, in batches, several at once, and shuffled as a stream."""

import copy
import random
import warnings
from collections.abc import Sized

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe, MapDataPipe
from ..iter.ordering import Seeded
from ..utils.common import InBatches, check_picklable


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The items of a sequence or mapping, with ``deepcopy`` of a copy.

    >>> list(SequenceWrapperMapDataPipe("ab").batch(1))
    [['a'], ['b']]
    """

    def __init__(self, sequence, deepcopy=True):
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place modification "
                    "would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


def default_fn(data):
    """The item itself."""
    return data


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """``fn`` of each item."""

    def __init__(self, datapipe, fn=default_fn):
        check_picklable(fn)
        self.datapipe = datapipe
        self.fn = fn

    def __len__(self):
        return len(self.datapipe)

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])


def _check_pipes(datapipes):
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(source, MapDataPipe) for source in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(isinstance(source, Sized) for source in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """The items of one pipe after those of another."""

    def __init__(self, *datapipes):
        _check_pipes(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index):
        place = index
        for source in self.datapipes:
            if place < len(source):
                return source[place]
            place -= len(source)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self):
        return sum(map(len, self.datapipes))


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of the items of several pipes."""

    def __init__(self, *datapipes):
        _check_pipes(datapipes)
        self.datapipes = datapipes

    def __getitem__(self, index):
        try:
            return tuple(source[index] for source in self.datapipes)
        except IndexError as error:
            raise IndexError(f"Index {index} is out of range for one of the input MapDataPipes.") from error

    def __len__(self):
        return min(map(len, self.datapipes))


@functional_datapipe("batch")
class BatcherMapDataPipe(InBatches, MapDataPipe):
    """Lists of ``batch_size`` items; ``drop_last`` leaves a shorter last one out."""

    def __getitem__(self, index):
        batch = []
        try:
            for i in range(index * self.batch_size, (index + 1) * self.batch_size):
                batch.append(self.datapipe[i])
        except IndexError as error:
            if self.drop_last or not batch:
                raise IndexError(f"Index {index} is out of bound.") from error
        return self.wrapper_class(batch)


class ShufflerIterDataPipe(Seeded, IterDataPipe):
    """The items of a pipe by key as a stream in random order; ``indices``: of these keys only."""

    def __init__(self, datapipe, *, indices=None):
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._rng = random.Random()
        self._left = self.indices

    def __iter__(self):
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
            return
        while self._left:
            yield self.datapipe[self._left.pop()]

    def reset(self):
        """Use the seed and shuffle anew."""
        self._use_seed()
        self._left = self._rng.sample(self.indices, len(self.indices))

    def __len__(self):
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
