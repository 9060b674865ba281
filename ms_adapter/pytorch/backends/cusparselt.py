"""torch.backends.cusparselt: a CUDA library; not here."""


def is_available():
    """False: there is no such library here."""
    return False


def version():
    """None: there is no such library here."""
    return


def get_max_alg_id():
    """None: there is no such library here."""
    return
