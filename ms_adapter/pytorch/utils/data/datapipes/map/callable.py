"""torch.utils.data.datapipes.map.callable: where PyTorch has these steps."""

from .steps import MapperMapDataPipe

__all__ = ["MapperMapDataPipe"]
