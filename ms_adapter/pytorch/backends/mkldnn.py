"""torch.backends.mkldnn: oneDNN, which large convolutions and products use."""

import contextlib

enabled = True
deterministic = False
allow_tf32 = False


def is_available():
    """True: oneDNN is built in."""
    return True


@contextlib.contextmanager
def flags(enabled=True, deterministic=False, allow_tf32=True, fp32_precision="none"):
    """Accepted; the core chooses by size whether oneDNN computes."""
    yield
