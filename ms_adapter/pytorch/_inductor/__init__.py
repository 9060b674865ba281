"""torch._inductor: PyTorch's code generator; here only its settings."""

from . import config


def list_mode_options(mode=None, dynamic=None):
    """The modes that ``torch.compile`` takes; they set nothing here."""
    modes = {"default": {}, "reduce-overhead": {}, "max-autotune-no-cudagraphs": {}, "max-autotune": {}}
    return modes if mode is None else modes[mode]
