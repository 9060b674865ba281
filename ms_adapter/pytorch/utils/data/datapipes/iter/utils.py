"""torch.utils.data.datapipes.iter.utils: where PyTorch has these steps."""

from .sources import IterableWrapperIterDataPipe

__all__ = ["IterableWrapperIterDataPipe"]
