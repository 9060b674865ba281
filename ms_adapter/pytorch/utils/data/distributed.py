"""DistributedSampler: each of several processes takes its share of a dataset."""

import math

import ms_adapter.pytorch as torch

from .sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler):
    """The indices of one process among ``num_replicas``: every ``num_replicas``-th of a common order.

    Args:
        num_replicas, rank: how many processes there are and which this is; default: as torch.distributed
            says, which must then be initialised.
        shuffle: a random order, the same in all processes for one ``seed`` and epoch.
        drop_last: leave samples out where they cannot be shared out equally; else some are given twice.

    Raises ValueError for a rank outside [0, num_replicas), RuntimeError where torch.distributed is needed
    and not there.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if None in (num_replicas, rank) and not torch.distributed.is_available():
            raise RuntimeError(
                "Requires distributed package to be available: give DistributedSampler num_replicas and rank"
            )
        self.num_replicas = torch.distributed.get_world_size() if num_replicas is None else num_replicas
        self.rank = torch.distributed.get_rank() if rank is None else rank
        if not 0 <= self.rank < self.num_replicas:
            raise ValueError(
                f"Invalid rank {self.rank}, rank should be in the interval [0, {self.num_replicas - 1}]"
            )
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        shares = len(dataset) / self.num_replicas
        self.num_samples = math.floor(shares) if drop_last else math.ceil(shares)
        self.total_size = self.num_samples * self.num_replicas

    def __iter__(self):
        n = len(self.dataset)
        order = list(range(n))
        if self.shuffle:
            generator = torch.Generator()
            generator.manual_seed(self.seed + self.epoch)
            order = torch.randperm(n, generator=generator).tolist()
        if self.total_size > n:
            order *= math.ceil(self.total_size / n)  # from the start again
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Give another order with ``shuffle``: call it in all processes before each epoch."""
        self.epoch = epoch
