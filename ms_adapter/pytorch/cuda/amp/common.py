"""torch.cuda.amp.common: whether mixed precision on CUDA can be had at all."""

import ms_adapter.pytorch as torch


def amp_definitely_not_available():
    """True where there is no CUDA device."""
    return not torch.cuda.is_available()
