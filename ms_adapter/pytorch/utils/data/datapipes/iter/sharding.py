"""torch.utils.data.datapipes.iter.sharding: where PyTorch has these steps."""

from .ordering import SHARDING_PRIORITIES, ShardingFilterIterDataPipe

__all__ = ["SHARDING_PRIORITIES", "ShardingFilterIterDataPipe"]
