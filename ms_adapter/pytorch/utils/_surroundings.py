"""What a function's result depends on besides its arguments: random numbers and autocast, to be had again."""

import contextlib

import ms_adapter.pytorch as torch


class DefaultDeviceType:
    """The device type whose settings a checkpoint restores when its arguments name none."""

    _default_device_type = "cuda"

    @staticmethod
    def set_device_type(device="cuda"):
        """Set it."""
        DefaultDeviceType._default_device_type = device

    @staticmethod
    def get_device_type():
        """Get it."""
        return DefaultDeviceType._default_device_type


def get_device_states(*args):
    """The devices of the tensors other than the CPU, and their generators' states: none have one here."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Set what :func:`get_device_states` gave."""


def _autocast_settings(device_type):
    return {
        "device_type": device_type,
        "enabled": torch.is_autocast_enabled(device_type),
        "dtype": torch.get_autocast_dtype(device_type),
        "cache_enabled": torch.is_autocast_cache_enabled(),
    }


class Surroundings:
    """The random state and autocast's settings at a time."""

    def __init__(self, preserve_rng_state, *args):
        kinds = {arg.device.type for arg in args if isinstance(arg, torch.Tensor)}
        self.autocast = [_autocast_settings(kind) for kind in sorted(kinds - {"meta"} | {"cpu"})]
        self.rng_state = torch.get_rng_state() if preserve_rng_state else None

    @contextlib.contextmanager
    def again(self):
        """A block in which things are as they were then; afterwards the generator is as before the block."""
        with contextlib.ExitStack() as stack:
            if self.rng_state is not None:
                stack.enter_context(torch.random.fork_rng(devices=[]))
                torch.set_rng_state(self.rng_state)
            for settings in self.autocast:
                stack.enter_context(torch.autocast(**settings))
            yield
