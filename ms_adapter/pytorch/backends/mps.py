"""torch.backends.mps: Apple's GPUs; not here."""


def is_available():
    """False: there is no such device here."""
    return False


def is_built():
    """False: it is not built in."""
    return False


def is_macos13_or_newer(minor=0):
    """False: there is no such device here."""
    return False


def is_macos_or_newer(major, minor):
    """False: there is no such device here."""
    return False
