"""What the loader is made of: collating, fetching, and the two ends of its worker processes."""

import ms_adapter.pytorch as torch

from . import collate, fetch

MP_STATUS_CHECK_INTERVAL = 5.0  # seconds that a worker gets to end by itself


def draw_seed(generator):
    """A number of 64 bits, drawn as PyTorch draws the seeds of its workers."""
    return torch.empty((), dtype=torch.int64).random_(generator=generator).item()
