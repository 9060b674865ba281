"""Placements of torch.distributed.tensor are values; tensors spread over processes raise."""

import pytest
import torch.distributed.tensor.placement_types  # noqa: F401 - PyTorch does not import it by itself

import ms_adapter.pytorch.distributed.tensor.placement_types


def made(t):
    types = t.distributed.tensor.placement_types
    return [
        types.Shard(0),
        types.Shard(-1),
        types.Replicate(),
        types.Partial(),
        types.Partial("avg"),
        types._StridedShard(1, split_factor=2),
    ]


def test_answers(both):
    def scenario(t):
        asked = [
            (p.is_shard(), p.is_shard(0), p.is_replicate(), p.is_partial(), p.is_partial("sum"))
            for p in made(t)
        ]
        return asked, [(repr(p), str(p)) for p in made(t)]

    both(scenario)


def test_equality_and_hash(both):
    def scenario(t):
        placements = made(t)
        same = [[a == b for b in made(t)] for a in placements]
        return same, len(set(placements) | set(made(t)))

    both(scenario)


def test_chunks_of_a_dimension(both):
    def scenario(t):
        cut = t.distributed.tensor.Shard.local_shard_size_and_offset
        return [cut(size, parts, rank) for size in range(12) for parts in (1, 2, 5) for rank in range(parts)]

    both(scenario)


def test_tensors_over_processes_raise():
    tensor = ms_adapter.pytorch.distributed.tensor
    with pytest.raises(NotImplementedError, match="spread over processes"):
        tensor.DTensor(1)
    assert not isinstance(ms_adapter.pytorch.ones(1), tensor.DTensor)
