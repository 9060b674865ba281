"""torch.distributed.checkpoint: what a single process does with states; files of sharded states raise."""

from ..._missing import attach

__all__ = []

attach(__name__)  # its readers, writers and planners are placeholders
