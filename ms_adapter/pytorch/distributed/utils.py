"""What libraries take from torch.distributed.utils; with one process there is nothing to synchronize."""

from .._missing import attach

__all__ = []


def _sync_module_states(
    module, process_group, broadcast_bucket_size, src, params_and_buffers_to_ignore, broadcast_buffers=True
):
    """Nothing: the only process has the states that all shall have."""


def _verify_param_shape_across_processes(process_group, tensors, logger=None):
    """Nothing: there is no other process whose shapes could differ."""


attach(__name__)
