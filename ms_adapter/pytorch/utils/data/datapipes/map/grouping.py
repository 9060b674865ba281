"""torch.utils.data.datapipes.map.grouping: where PyTorch has these steps."""

from .steps import BatcherMapDataPipe

__all__ = ["BatcherMapDataPipe"]
