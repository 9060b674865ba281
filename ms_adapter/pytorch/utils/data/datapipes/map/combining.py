"""torch.utils.data.datapipes.map.combining: where PyTorch has these steps."""

from .steps import ConcaterMapDataPipe, ZipperMapDataPipe

__all__ = ["ConcaterMapDataPipe", "ZipperMapDataPipe"]
