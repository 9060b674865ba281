"""torch.utils.data.datapipes.iter.selecting: where PyTorch has these steps."""

from .changing import FilterIterDataPipe

__all__ = ["FilterIterDataPipe"]
