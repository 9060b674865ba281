"""torch.utils.data.datapipes.map.utils: where PyTorch has these steps."""

from .steps import SequenceWrapperMapDataPipe

__all__ = ["SequenceWrapperMapDataPipe"]
