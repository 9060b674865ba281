"""What PyTorch has for modes under this name."""

import contextlib

from ._python_dispatch import _disable_current_modes, _DisableTorchDispatch

__all__ = ["all_same_mode", "no_dispatch"]


@contextlib.contextmanager
def no_dispatch():
    """Inside, neither modes nor classes are asked."""
    with _disable_current_modes(), _DisableTorchDispatch():
        yield


def all_same_mode(modes):
    """Whether all modes are one and the same."""
    return all(mode is modes[0] for mode in modes)
