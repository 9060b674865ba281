"""The older entries of mixed precision, one set for each device: torch.cuda.amp and torch.cpu.amp."""

import functools
import warnings

import ms_adapter.pytorch as torch

from .autocast_mode import autocast, custom_bwd, custom_fwd
from .grad_scaler import GradScaler

_ROOT = __name__.rpartition(".amp.")[0]


def _say(device_type, name):
    warnings.warn(
        f"torch.{device_type}.amp.{name} is deprecated: use torch.amp.{name}('{device_type}', ...).",
        FutureWarning,
        stacklevel=3,
    )


def autocast_for(device_type):
    """The class ``torch.<device_type>.amp.autocast``."""
    lower = torch.get_autocast_dtype(device_type)

    def __init__(self, enabled=True, dtype=lower, cache_enabled=True):
        _say(device_type, "autocast")
        autocast.__init__(self, device_type, enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)

    return _publish(autocast, __init__, device_type, "autocast_mode")


def grad_scaler_for(device_type):
    """The class ``torch.<device_type>.amp.GradScaler``."""

    def __init__(
        self, init_scale=2.0**16, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ):
        _say(device_type, "GradScaler")
        GradScaler.__init__(
            self, device_type, init_scale, growth_factor, backoff_factor, growth_interval, enabled
        )

    return _publish(GradScaler, __init__, device_type, "grad_scaler")


def _publish(base, init, device_type, module):
    doc = f"As ``torch.amp.{base.__name__}`` for the device type {device_type!r}, which it replaces."
    place = f"{_ROOT}.{device_type}.amp.{module}"
    return type(base.__name__, (base,), {"__init__": init, "__doc__": doc, "__module__": place})


def custom_functions_for(device_type):
    """The functions custom_fwd and custom_bwd of ``torch.<device_type>.amp``."""

    @functools.wraps(custom_fwd)
    def older_fwd(fwd=None, *, cast_inputs=None):
        _say(device_type, "custom_fwd")
        return custom_fwd(fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(custom_bwd)
    def older_bwd(bwd=None):
        _say(device_type, "custom_bwd")
        return custom_bwd(bwd, device_type=device_type)

    return older_fwd, older_bwd
