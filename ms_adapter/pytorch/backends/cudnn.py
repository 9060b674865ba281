"""torch.backends.cudnn: not here; its switches are kept as they are set."""

from ._switches import switches

set_flags, flags = switches(
    __name__,
    {"enabled": False, "benchmark": False, "deterministic": False, "allow_tf32": True},
    enabled=True,
    benchmark=False,
    benchmark_limit=None,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
    depthwise_kernel="auto",
)


def is_available():
    """False: there is no cuDNN here."""
    return False


def version():
    """None: there is no cuDNN here."""
    return


def is_acceptable(tensor):
    """False: cuDNN computes on no tensor here."""
    return False
