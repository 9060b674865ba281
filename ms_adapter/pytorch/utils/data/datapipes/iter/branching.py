"""Pipes that several others read: all items each (fork), or each its own (demux)."""

import copy
import warnings
from collections import deque

from .._decorator import functional_datapipe
from .._iterators import describe
from ..datapipe import IterDataPipe
from ..utils.common import StreamWrapper, check_picklable


class _Branches(IterDataPipe):
    """What the branches of a fork or demux read, and what each has still to be given."""

    def __init__(self, datapipe, num_instances, buffer_size):
        if buffer_size < 0:
            warnings.warn(
                "Unlimited buffer size is set, please be aware of OOM at random places", stacklevel=5
            )
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        self._clear()

    def _clear(self):
        self._source = None
        self._waiting = [deque() for _ in range(self.num_instances)]
        self._stopped = [True] * self.num_instances
        self._source_ended = False

    def items_of(self, number):
        """The items of one branch."""
        if self._source is None and self._stopped[number]:
            self._source = iter(self.main_datapipe)
            self._source_ended = False
            self._stopped = [False] * self.num_instances
        try:
            while not self._stopped[number]:
                if self._waiting[number]:
                    yield self._waiting[number].popleft()
                elif self._source_ended or not self._read_for(number):
                    break
        finally:
            self._stopped[number] = True
            self._drop(number)
            if all(self._stopped):
                self._source = None

    def _read_for(self, number):
        """Read until there is something for a branch; whether there is."""
        while not self._waiting[number]:
            try:
                item = next(self._source)
            except StopIteration:
                self._source_ended = True
                return False
            self._hand_out(item)
            self._check_room(number)
        return True

    def _overflow(self):
        name = type(self).__name__.lstrip("_")
        raise BufferError(f"{name} buffer overflow, buffer size {self.buffer_size} is insufficient.")

    def _drop(self, number):
        while self._waiting[number]:
            StreamWrapper.close_streams(self._waiting[number].popleft())

    def all_ended(self):
        """Whether every branch has been read to its end."""
        return self._source_ended and all(self._stopped)

    def reset(self):
        """Begin anew."""
        self._clear()

    def __getstate__(self):
        state = dict(self.__dict__)
        for name in ("_source", "_waiting", "_stopped", "_source_ended"):
            del state[name]
        return self._hooked_state(state)

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._clear()


class _Branch(IterDataPipe):
    """One of the pipes that share a source.

    A new iterator of a branch begins a new round, which ends the iterators of all branches; only a branch
    that has had none in this round joins it.
    """

    def __init__(self, main_datapipe, instance_id):
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id

    def __iter__(self):
        return self.main_datapipe.items_of(self.instance_id)

    def __len__(self):
        return self.main_datapipe.length_of_branch()

    def _begin_as_child(self):
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.all_ended():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are resetting the "
                    "buffer and each child DataPipe will read from the start again.",
                    stacklevel=4,
                )
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return self._valid_iterator_id

    def _is_valid_as_child(self, number):
        return number == self.main_datapipe._valid_iterator_id


def _check_count(num_instances):
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


def _same(item):
    return item


class _ForkerIterDataPipe(_Branches):
    _COPIES = {None: _same, "shallow": copy.copy, "deep": copy.deepcopy}

    def __init__(self, datapipe, num_instances, buffer_size, how):
        if how not in self._COPIES:
            raise ValueError(
                f"Unknown copy method `{how}` requested, choose one of None, `shallow` or `deep`."
            )
        self.copy_fn = self._COPIES[how]
        super().__init__(datapipe, num_instances, buffer_size)

    def _hand_out(self, item):
        for waiting, stopped in zip(self._waiting, self._stopped, strict=True):
            if not stopped:
                waiting.append(self.copy_fn(item))

    def _check_room(self, number):
        if 0 <= self.buffer_size < max(map(len, self._waiting)):
            self._overflow()

    def length_of_branch(self):
        """As many as the source has."""
        return len(self.main_datapipe)


class _DemultiplexerIterDataPipe(_Branches):
    def __init__(self, datapipe, num_instances, classifier_fn, drop_none, buffer_size):
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def _hand_out(self, item):
        number = self.classifier_fn(item)
        if number is None and self.drop_none:
            StreamWrapper.close_streams(item)
        elif number is None or not 0 <= number < self.num_instances:
            raise ValueError(
                f"Output of the classification fn should be between 0 and {self.num_instances - 1}. "
                f"{number} is returned."
            )
        else:
            self._waiting[number].append(item)

    def _check_room(self, number):
        others = sum(map(len, self._waiting)) - len(self._waiting[number])
        if 0 <= self.buffer_size < others:
            self._overflow()

    def length_of_branch(self):
        """Not known before reading."""
        raise TypeError(f"a branch of {describe(self)} doesn't have valid length")


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """``num_instances`` pipes that each give all items; the fastest may be ``buffer_size`` ahead (-1: any).

    ``copy``: "shallow" or "deep" copies for each.

    >>> from ms_adapter.pytorch.utils.data.datapipes.iter import IterableWrapper
    >>> first, second = IterableWrapper([1, 2]).fork(2)
    >>> list(first), list(second)
    ([1, 2], [1, 2])
    """

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        main = _ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy)
        return [_Branch(main, number) for number in range(num_instances)]


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """``num_instances`` pipes; ``classifier_fn`` gives the number of the one that an item goes to.

    With ``drop_none`` an item for which it gives None is left out. ``buffer_size``: how many items may wait.
    """

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        _check_count(num_instances)
        check_picklable(classifier_fn)
        main = _DemultiplexerIterDataPipe(datapipe, num_instances, classifier_fn, drop_none, buffer_size)
        return [_Branch(main, number) for number in range(num_instances)]
