"""Generators of CUDA devices: there are none, so there are no states to keep."""

from .._no_accelerator import refusing_function

__all__ = ["get_rng_state", "get_rng_state_all", "set_rng_state", "set_rng_state_all"]

get_rng_state = refusing_function("ms_adapter.pytorch.cuda", "get_rng_state")


def get_rng_state_all():
    """The states of all devices: an empty list."""
    return []


def set_rng_state(new_state, device="cuda"):
    """Nothing to set: PyTorch too ignores this without CUDA."""


def set_rng_state_all(new_states):
    """Nothing to set for no devices."""
