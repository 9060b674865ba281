"""torch.backends: which libraries compute, and their switches."""

from . import (
    cpu,
    cuda,
    cudnn,
    cusparselt,
    kleidiai,
    mha,
    miopen,
    mkl,
    mkldnn,
    mps,
    nnpack,
    openmp,
    opt_einsum,
    quantized,
)

fp32_precision = "none"  # float32 is computed in float32, whatever is asked for


def disable_global_flags():
    """Accepted: assigning to switches goes on to work."""


def flags_frozen():
    """False: switches may be assigned."""
    return False
