"""torch.utils.data.datapipes.iter.callable: where PyTorch has these steps."""

from .changing import CollatorIterDataPipe, MapperIterDataPipe

__all__ = ["CollatorIterDataPipe", "MapperIterDataPipe"]
