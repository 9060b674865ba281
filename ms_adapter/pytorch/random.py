"""torch.random: the default generator's seed and state."""

import contextlib

from ms_adapter import _C

default_generator = _C.default_generator


def manual_seed(seed):
    """Seed the default generator; returns it.

    >>> import ms_adapter.pytorch as torch
    >>> a = torch.manual_seed(0) and torch.rand(1)
    >>> b = torch.manual_seed(0) and torch.rand(1)
    >>> torch.equal(a, b)
    True
    """
    return default_generator.manual_seed(int(seed))


def seed():
    """Seed the default generator from the system's randomness; returns the seed."""
    return default_generator.seed()


def initial_seed():
    """The seed that the default generator was given."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state, a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Set the default generator's state."""
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
    """Whatever is drawn in the block, the default generator goes on after it as if nothing had been."""
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
