"""One pass of a loader over its dataset: what all passes share, and the one in this process."""

import warnings

import ms_adapter.pytorch as torch

from . import graph_settings
from ._utils import draw_seed
from ._utils.fetch import create_fetcher
from .datapipes.datapipe import IterDataPipe, MapDataPipe


class _BaseDataLoaderIter:
    """Draws from the default generator (or the loader's) exactly what PyTorch's iterators draw."""

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._shared_seed = self._seed_pipes(loader)
        self._is_stream = loader._is_stream
        self._promised = loader._length_of_stream  # to warn of a stream that gives more
        self._auto_collation = loader._auto_collation
        self._drop_last = loader.drop_last
        self._collate_fn = loader.collate_fn
        self._index_sampler = loader._index_sampler
        self._num_workers = loader.num_workers
        self._warn_of_pinning(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._base_seed = draw_seed(loader.generator)
        self._num_yielded = 0

    @staticmethod
    def _warn_of_pinning(loader):
        if loader.pin_memory and loader.pin_memory_device:
            warnings.warn(
                f"pin_memory_device={loader.pin_memory_device!r} is ignored: pinning is for the current "
                "accelerator.",
                stacklevel=4,
            )
        if loader.pin_memory and not torch.accelerator.is_available():
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
                "memory won't be used.",
                stacklevel=4,
            )

    def _seed_pipes(self, loader):
        """Seed a datapipe's random steps; all workers get the seed that is returned."""
        if not isinstance(self._dataset, IterDataPipe):
            return None
        seed = draw_seed(loader.generator)
        seed_pipes(self._dataset, seed)
        return seed

    def _reset(self, loader, first_iter=False):
        self._shared_seed = self._seed_pipes(loader)
        self._sampler_iter = iter(self._index_sampler)
        self._num_yielded = 0
        self._promised = loader._length_of_stream

    def __iter__(self):
        return self

    def _next_index(self):
        return next(self._sampler_iter)

    def _next_data(self):
        raise NotImplementedError

    def __next__(self):
        data = self._next_data()
        self._num_yielded += 1
        if self._is_stream and self._promised is not None and self._num_yielded > self._promised:
            self._warn_of_length()
        return data

    def _warn_of_length(self):
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._promised} (when accessing "
            f"len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "Each worker iterates over a copy of the dataset: give each its share by "
                "torch.utils.data.get_worker_info()."
            )
        warnings.warn(text, stacklevel=3)

    def __len__(self):
        return len(self._index_sampler)

    def __getstate__(self):
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled: pickle the loader.")


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass that fetches its samples itself."""

    def __init__(self, loader):
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError(
                f"timeout={loader.timeout} needs num_workers > 0: it is for waiting on workers"
            )
        share_pipes(self._dataset, 1, 0)
        self._fetcher = create_fetcher(
            self._is_stream, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
        )

    def _next_data(self):
        return self._fetcher.fetch(self._next_index())


def seed_pipes(dataset, seed):
    """Seed the random steps of a datapipe; other datasets have none."""
    if isinstance(dataset, IterDataPipe):
        generator = torch.Generator()
        generator.manual_seed(seed)
        graph_settings.apply_random_seed(dataset, generator)


def share_pipes(dataset, workers, worker_id):
    """Give a datapipe its share among this process's workers and those of a group of processes."""
    if isinstance(dataset, (IterDataPipe, MapDataPipe)):
        group = torch.distributed
        grouped = group.is_available() and group.is_initialized()
        processes, rank = (group.get_world_size(), group.get_rank()) if grouped else (1, 0)
        graph_settings.apply_sharding(dataset, workers * processes, worker_id * processes + rank)
