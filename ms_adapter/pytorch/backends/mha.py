"""torch.backends.mha: whether a Transformer's layers may take a shorter way in eval mode."""

_enabled = True


def get_fastpath_enabled():
    """What was set last, True at first."""
    return _enabled


def set_fastpath_enabled(value):
    """Accepted: there is one way here."""
    global _enabled
    _enabled = value
