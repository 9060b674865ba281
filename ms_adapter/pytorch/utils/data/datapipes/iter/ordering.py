"""Pipes that change the order of items, or share them out."""

import random
from enum import IntEnum

import ms_adapter.pytorch as torch

from ...sampler import SequentialSampler
from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe
from ..utils.common import length_of


class SamplerIterDataPipe(IterDataPipe):
    """What a sampler over the pipe gives."""

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        if not hasattr(datapipe, "__len__"):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args = sampler_args or ()
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        return length_of(self, self.sampler)


class Seeded:
    """Random state of a pipe: a seed for the next iteration, drawn from the default generator if not set."""

    _enabled = True
    _seed = None

    def set_shuffle(self, shuffle=True):
        """Turn shuffling on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """Set the seed of the next iteration."""
        self._seed = seed
        return self

    def _use_seed(self):
        if self._enabled and self._seed is None:
            self._seed = int(torch.empty((), dtype=torch.int64).random_().item())
        self._rng.seed(self._seed)
        self._seed = None


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Seeded, IterDataPipe):
    """The items in random order, as far as a buffer of ``buffer_size`` items allows.

    ``unbatch_level``: take batches apart first, see ``unbatch``.
    """

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        self.datapipe = datapipe.unbatch(unbatch_level=unbatch_level) if unbatch_level else datapipe
        self.buffer_size = buffer_size
        self._buffer = []
        self._rng = random.Random()

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        for item in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(item)
                continue
            place = self._rng.randint(0, len(self._buffer) - 1)
            chosen, self._buffer[place] = self._buffer[place], item
            yield chosen
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self):
        return length_of(self, self.datapipe)

    def reset(self):
        """Empty the buffer and use the seed."""
        self._buffer = []
        if self._enabled:
            self._use_seed()


class SHARDING_PRIORITIES(IntEnum):  # noqa: N801 - PyTorch's name
    """Between what a pipe is shared out; the later one within a share of the earlier."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


@functional_datapipe("sharding_filter")
class ShardingFilterIterDataPipe(IterDataPipe):
    """In each worker its share of the items: every n-th."""

    def __init__(self, source_datapipe, sharding_group_filter=None):
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups = {}
        self._update()

    def apply_sharding(self, num_of_instances, instance_id, sharding_group=SHARDING_PRIORITIES.DEFAULT):
        """Say which of how many shares this is."""
        if instance_id >= num_of_instances:
            raise ValueError(
                f"instance_id({instance_id}) should be smaller than num_of_instances({num_of_instances})"
            )
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (sharding_group == default) != (default in self.groups):
            raise RuntimeError("ShardingFilter cannot mix DEFAULT and non DEFAULT groups")
        self.groups[sharding_group] = num_of_instances, instance_id
        self._update()

    def _update(self):
        self.num_of_instances, self.instance_id = 1, 0
        for group in sorted(self.groups, reverse=True):
            if self.sharding_group_filter in (None, group):
                count, number = self.groups[group]
                self.instance_id += self.num_of_instances * number
                self.num_of_instances *= count

    def __iter__(self):
        for number, item in enumerate(self.source_datapipe):
            if number % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self):
        return length_of(
            self,
            self.source_datapipe,
            lambda source: len(range(self.instance_id, len(source), self.num_of_instances)),
        )
