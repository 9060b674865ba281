"""torch.utils.data.datapipes.iter.filelister: where PyTorch has these steps."""

from .sources import FileListerIterDataPipe

__all__ = ["FileListerIterDataPipe"]
