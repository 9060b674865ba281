"""torch.backends.opt_einsum: the package that orders einsum's products; not used."""

from ._switches import switches

set_flags, flags = switches(__name__, {}, enabled=False, strategy=None)


def is_available():
    """False: einsum does not use the package."""
    return False


def get_opt_einsum():
    """None: einsum does not use the package."""
    return
