"""torch.backends.cpu: what the processor can do."""

from ms_adapter import _C


def get_cpu_capability():
    """The instruction set that the loops run with, as "AVX2"."""
    return _C.cpu_capability()
