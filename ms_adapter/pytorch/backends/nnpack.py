"""torch.backends.nnpack: a library for convolutions; not used; its switch is kept as it is set."""

from ._switches import switches

set_flags, flags = switches(__name__, {"enabled": False}, enabled=True)


def is_available():
    """False: the library is not used."""
    return False
