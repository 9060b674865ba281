"""torch.backends.kleidiai: an Arm library; not used."""


def is_available():
    """False: it is not used."""
    return False
