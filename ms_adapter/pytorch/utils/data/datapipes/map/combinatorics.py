"""torch.utils.data.datapipes.map.combinatorics: where PyTorch has these steps."""

from .steps import ShufflerIterDataPipe

__all__ = ["ShufflerIterDataPipe"]
