"""Placements: how a dimension of a device mesh holds a tensor. Plans are written with them: they are real."""

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The base of all placements."""

    def is_shard(self, dim=None):
        """Whether it cuts the tensor (along ``dim``, if given)."""
        return type(self) is Shard and dim in (None, self.dim)

    def is_replicate(self):
        """Whether every device holds all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op=None):
        """Whether every device holds a term (of ``reduce_op``, if given) of it."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True, repr=False)
class Shard(Placement):
    """Cut along a dimension into chunks.

    >>> Shard(0), Shard(0) == Shard(dim=0), str(Shard(1))
    (Shard(dim=0), True, 'S(1)')
    """

    dim: int

    @staticmethod
    def local_shard_size_and_offset(curr_local_size, num_chunks, rank):
        """The length and the start of a rank's chunk of a dimension, as `torch.chunk` cuts it.

        >>> Shard.local_shard_size_and_offset(10, 4, 3)
        (1, 9)
        """
        if curr_local_size % num_chunks == 0:
            length = curr_local_size // num_chunks
            return length, length * rank
        full = -(-curr_local_size // num_chunks)
        start = full * rank
        if start > curr_local_size:
            return 0, curr_local_size
        return min(full, curr_local_size - start), start

    def _local_shard_size_and_offset(self, curr_local_size, num_chunks, rank):
        return self.local_shard_size_and_offset(curr_local_size, num_chunks, rank)

    def __repr__(self):
        return f"Shard(dim={self.dim})"

    def __str__(self):
        return f"S({self.dim})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Placement):
    """Cut along a dimension in ``split_factor`` interleaved parts."""

    dim: int
    split_factor: int

    def __init__(self, dim, *, split_factor):
        object.__setattr__(self, "dim", dim)
        object.__setattr__(self, "split_factor", split_factor)

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"


@dataclass(frozen=True, repr=False)
class Replicate(Placement):
    """All of it on every device."""

    def __repr__(self):
        return "Replicate()"

    def __str__(self):
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """A term of it on every device, ``reduce_op`` of which is the tensor.

    >>> Partial(), Partial("avg").is_partial("sum")
    (Partial(sum), False)
    """

    reduce_op: str = "sum"

    def __repr__(self):
        return f"Partial({self.reduce_op})"

    def __str__(self):
        return f"P({self.reduce_op})"
