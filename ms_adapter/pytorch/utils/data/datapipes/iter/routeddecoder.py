"""torch.utils.data.datapipes.iter.routeddecoder: where PyTorch has these steps."""

from .sources import RoutedDecoderIterDataPipe

__all__ = ["RoutedDecoderIterDataPipe"]
