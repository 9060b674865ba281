"""torch.utils.data.datapipes.iter.streamreader: where PyTorch has these steps."""

from .sources import StreamReaderIterDataPipe

__all__ = ["StreamReaderIterDataPipe"]
