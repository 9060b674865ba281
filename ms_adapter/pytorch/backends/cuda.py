"""torch.backends.cuda: not here; its switches are kept as they are set."""

from types import SimpleNamespace

matmul = SimpleNamespace(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
)


def is_built():
    """False: CUDA is not built in."""
    return False
