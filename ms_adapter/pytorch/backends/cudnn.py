"""torch.backends.cudnn: not here; its switches are kept as they are set."""

import contextlib

enabled = False
deterministic = False
benchmark = False
allow_tf32 = True


def is_available():
    """False: there is no cuDNN here."""
    return False


def version():
    """None: there is no cuDNN here."""
    return


@contextlib.contextmanager
def flags(
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
):
    """The switches for a block; they act on nothing here."""
    yield
