"""torch.distributed.tensor: the placements that plans are written with; tensors over processes raise."""

from ..._missing import attach
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

attach(__name__)  # DTensor and its kin are placeholders
