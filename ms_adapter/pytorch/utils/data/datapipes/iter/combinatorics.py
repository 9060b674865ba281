"""torch.utils.data.datapipes.iter.combinatorics: where PyTorch has these steps."""

from .ordering import SamplerIterDataPipe, ShufflerIterDataPipe

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]
