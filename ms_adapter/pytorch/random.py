"""torch.random: the default generator's seed and state."""

import contextlib

from ms_adapter import _C

default_generator = _C.default_generator
manual_seed, seed, initial_seed = _C.manual_seed, _C.seed, _C.initial_seed
get_rng_state, set_rng_state = _C.get_rng_state, _C.set_rng_state


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
