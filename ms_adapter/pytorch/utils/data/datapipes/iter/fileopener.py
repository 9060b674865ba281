"""torch.utils.data.datapipes.iter.fileopener: where PyTorch has these steps."""

from .sources import FileOpenerIterDataPipe

__all__ = ["FileOpenerIterDataPipe"]
