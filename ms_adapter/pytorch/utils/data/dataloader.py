"""DataLoader: samples in batches, in the order a sampler gives, from this process or from workers."""

import itertools
import multiprocessing
import warnings

import ms_adapter.pytorch as torch

from . import graph_settings
from ._iterators import _BaseDataLoaderIter, _SingleProcessDataLoaderIter  # noqa: F401 - libraries look here
from ._utils.collate import default_collate, default_convert
from ._utils.fetch import create_fetcher
from ._utils.worker import get_worker_info
from ._workers import _MultiProcessingDataLoaderIter
from .datapipes.datapipe import IterDataPipe
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]


class _InfiniteConstantSampler(Sampler):
    """``None`` without end: what a stream is asked for."""

    def __iter__(self):
        return itertools.repeat(None)


class _DatasetKind:
    """PyTorch's numbers for datasets by index and for streams."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        return create_fetcher(kind == _DatasetKind.Iterable, dataset, auto_collation, collate_fn, drop_last)


class DataLoader:
    """Iterates over a dataset in batches.

    Args:
        batch_size: samples in a batch; ``None`` gives single samples.
        shuffle: a new random order for each pass.
        sampler, batch_sampler: other orders and groupings.
        collate_fn: makes a batch of a list of samples.
        drop_last: leave out a last batch that is too short.
        generator: the source of randomness; default: the default generator.
        num_workers: how many processes load; 0: this one.
        prefetch_factor: batches that each worker is asked for ahead; default 2.
        persistent_workers: keep the workers for the next pass.
        worker_init_fn: called in each worker with its number.
        multiprocessing_context: "fork", "spawn" or "forkserver", or such a context.
        timeout: seconds to wait for a batch, 0: for ever.
        in_order: give batches in the order of the sampler, not as they are finished.
        pin_memory: accepted; without an accelerator it only warns.

    A worker's exception is raised here with its traceback; a worker that dies raises RuntimeError.

    >>> import ms_adapter.pytorch as torch
    >>> loader = torch.utils.data.DataLoader(torch.arange(5), batch_size=2)
    >>> list(loader)
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    __initialized = False

    def __class_getitem__(cls, item):
        return cls

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, IterDataPipe):
            dataset, shuffle = graph_settings.apply_shuffle_settings(dataset, shuffle), None
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.generator = generator
        stream = isinstance(dataset, IterableDataset)
        if stream:
            _check_stream(shuffle, sampler, batch_sampler)
        _check_sampling(shuffle, sampler, batch_sampler, batch_size, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            if stream:
                sampler = _InfiniteConstantSampler()
            elif shuffle:
                sampler = RandomSampler(dataset, generator=generator)
            else:
                sampler = SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._iterator = None  # that of the persistent workers
        self.__initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name, value):
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and name in fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self):
        """How workers are started; None means as `multiprocessing` does by default."""
        return self.__multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, multiprocessing_context):
        self.__multiprocessing_context = _checked_context(multiprocessing_context, self.num_workers)

    @property
    def _is_stream(self):
        return isinstance(self.dataset, IterableDataset)

    @property
    def _dataset_kind(self):
        return _DatasetKind.Iterable if self._is_stream else _DatasetKind.Map

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or self._iterator.failure:
            self._iterator = self._get_iterator()
        else:
            self._iterator._reset(self)
        return self._iterator

    def __getstate__(self):
        return {**self.__dict__, "_iterator": None}  # workers stay here

    def check_worker_number_rationality(self):
        """Warn where there are more workers than processors."""
        if self.num_workers > torch._utils.cpu_count():
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes, but this process may run "
                f"on {torch._utils.cpu_count()} processors only: more workers than that as a rule slow "
                "loading down.",
                stacklevel=3,
            )

    def __len__(self):
        if not self._is_stream:
            return len(self._index_sampler)
        length = self._length_of_stream = len(self.dataset)
        if self.batch_size is None:
            return length
        return (length + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size

    _length_of_stream = None  # what the dataset last said, to warn of one that gives more


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to "
            "enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _checked_context(context, num_workers):
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods}, but got "
                f"multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the "
            f"start method, but got multiprocessing_context={context}"
        )
    return context


def _check_stream(shuffle, sampler, batch_sampler):
    if shuffle:
        raise ValueError(
            f"DataLoader with IterableDataset: expected unspecified shuffle option, but got {shuffle=}"
        )
    for name, given in (("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {given}"
            )


def _check_sampling(shuffle, sampler, batch_sampler, batch_size, drop_last):
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError(
            "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
        )
