"""torch.backends.mkldnn: oneDNN, which large convolutions and products use; the core chooses by size."""

from ._switches import switches

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2

set_flags, flags = switches(
    __name__,
    {"enabled": False, "deterministic": False, "allow_tf32": True},
    enabled=True,
    deterministic=False,
    allow_tf32=None,
    fp32_precision="none",
)


class verbose:
    """A block in which oneDNN would report what it runs; it stays silent here."""

    def __init__(self, level):
        self.level = level

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        return False


def is_available():
    """True: oneDNN is built in."""
    return True


def is_acl_available():
    """False: Arm's library is not built in."""
    return False
