"""DataLoader: samples in batches, in the order a sampler gives, in this process."""

import itertools
import warnings

import ms_adapter.pytorch as torch

from .collate import default_collate, default_convert
from .dataset import IterableDataset
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = ["DataLoader", "get_worker_info"]


class _InfiniteConstantSampler(Sampler):
    """``None`` without end: what a stream is asked for."""

    def __iter__(self):
        return itertools.repeat(None)


def get_worker_info():
    """What a worker process knows of itself; ``None`` in the main process, where all loading happens."""
    return


class DataLoader:
    """Iterates over a dataset in batches.

    Args:
        batch_size: samples in a batch; ``None`` gives single samples.
        shuffle: a new random order for each pass.
        sampler, batch_sampler: other orders and groupings.
        collate_fn: makes a batch of a list of samples.
        drop_last: leave out a last batch that is too short.
        generator: the source of randomness; default: the default generator.
        num_workers: 0; loading in other processes is not supported yet and raises.

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
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.generator = generator
        if pin_memory and not torch.cuda.is_available():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory "
                "won't be "
                "used.",
                stacklevel=2,
            )
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
        self.__initialized = True

    def __setattr__(self, name, value):
        fixed = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
        if self.__initialized and name in fixed:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _index_sampler(self):
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def __iter__(self):
        return _Pass(self)

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._length_of_stream = len(self.dataset)
        if self.batch_size is None:
            return length
        return (length + (0 if self.drop_last else self.batch_size - 1)) // self.batch_size

    _length_of_stream = None  # what the dataset last said, to warn of one that gives more


def _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers > 0:
        raise NotImplementedError(
            f"DataLoader: num_workers={num_workers} is not supported yet: loading in worker processes comes "
            f"with a later "
            "version. Use num_workers=0: the batches are the same."
        )
    if prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to "
            "enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if persistent_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")
    if multiprocessing_context is not None:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )


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


class _Pass:
    """One pass of a loader over its dataset."""

    def __init__(self, loader):
        self._loader = loader
        self._indices = iter(loader._index_sampler)
        # Workers would be seeded from this number; drawing it keeps the default generator in PyTorch's step.
        self._base_seed = torch.empty((), dtype=torch.int64).random_(generator=loader.generator).item()
        stream = isinstance(loader.dataset, IterableDataset)
        self._fetch = _fetcher(loader, iter(loader.dataset)) if stream else _by_index(loader)
        self._yielded = 0

    def __iter__(self):
        return self

    def __next__(self):
        data = self._fetch(next(self._indices))
        self._yielded += 1
        promised = self._loader._length_of_stream
        if promised is not None and self._yielded > len(self._loader):
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {promised} (when "
                f"accessing "
                f"len(dataloader)), but {self._yielded} samples have been fetched. ",
                stacklevel=2,
            )
        return data

    def __len__(self):
        return len(self._loader._index_sampler)

    def __getstate__(self):
        raise NotImplementedError("An iterator over a DataLoader cannot be pickled: pickle the loader.")


def _by_index(loader):
    dataset, collate = loader.dataset, loader.collate_fn
    if loader.batch_sampler is None:
        return lambda index: collate(dataset[index])
    if callable(getattr(dataset, "__getitems__", None)):
        return lambda indices: collate(dataset.__getitems__(indices))
    return lambda indices: collate([dataset[index] for index in indices])


def _fetcher(loader, stream):
    """Takes samples off a stream: one, or as many as the sampler asks for."""

    def single(_index):
        return loader.collate_fn(next(stream))

    def batch(indices):
        samples = list(itertools.islice(stream, len(indices)))
        if not samples or (loader.drop_last and len(samples) < len(indices)):
            raise StopIteration
        return loader.collate_fn(samples)

    return single if loader.batch_sampler is None else batch
