"""Pipes that make batches and take them apart."""

from collections import defaultdict

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe
from ..utils.common import InBatches, check_picklable


@functional_datapipe("batch")
class BatcherIterDataPipe(InBatches, IterDataPipe):
    """Lists of ``batch_size`` items; ``drop_last`` leaves a shorter last one out."""

    def __iter__(self):
        batch = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The items of batches, ``unbatch_level`` lists deep; -1: of all lists."""

    def __init__(self, datapipe, unbatch_level=1):
        self.datapipe = datapipe
        self.unbatch_level = unbatch_level

    def __iter__(self):
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for item in self.datapipe:
            yield from self._items(item, self.unbatch_level)

    def _items(self, item, level):
        if level == 0 or (level == -1 and not isinstance(item, list)):
            yield item
        elif isinstance(item, list):
            for part in item:
                yield from self._items(part, -1 if level == -1 else level - 1)
        else:
            raise IndexError(f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe")


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Lists of items that have one key.

    Args:
        group_key_fn: gives an item's key.
        keep_key: give (key, list).
        buffer_size: how many items may wait for others.
        group_size: give a group as soon as it has so many.
        guaranteed_group_size: the fewest that a group given for want of room may have.
        drop_remaining: drop a smaller one then, instead of raising RuntimeError.
    """

    def __init__(
        self,
        datapipe,
        group_key_fn,
        *,
        keep_key=False,
        buffer_size=10000,
        group_size=None,
        guaranteed_group_size=None,
        drop_remaining=False,
    ):
        check_picklable(group_key_fn)
        if group_size is not None and buffer_size is not None and not 0 < group_size <= buffer_size:
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is not None and (
            group_size is None or not 0 < guaranteed_group_size <= group_size
        ):
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        self.datapipe = datapipe
        self.group_key_fn = group_key_fn
        self.keep_key = keep_key
        self.max_buffer_size = buffer_size
        self.group_size = group_size
        self.guaranteed_group_size = group_size if guaranteed_group_size is None else guaranteed_group_size
        self.drop_remaining = drop_remaining
        self.wrapper_class = DataChunk
        self._groups = defaultdict(list)

    def _take(self, key):
        group = self.wrapper_class(self._groups.pop(key))
        return (key, group) if self.keep_key else group

    def _make_room(self):
        """The largest group, in a list; an empty list where it is too small and dropped."""
        key = max(self._groups, key=lambda each: len(self._groups[each]))
        if len(self._groups[key]) >= (self.guaranteed_group_size or 0):
            return [self._take(key)]
        if not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(self._groups[key]))
        del self._groups[key]
        return []

    def __iter__(self):
        for item in self.datapipe:
            key = self.group_key_fn(item)
            self._groups[key].append(item)
            if self.group_size is not None and len(self._groups[key]) == self.group_size:
                yield self._take(key)
            if sum(map(len, self._groups.values())) == self.max_buffer_size:
                yield from self._make_room()
        for key in list(self._groups):
            yield self._take(key)

    def reset(self):
        """Forget the items that wait."""
        self._groups = defaultdict(list)

    def __getstate__(self):
        return self._hooked_state({**self.__dict__, "_groups": defaultdict(list)})
