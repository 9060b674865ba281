"""This thread's autocast settings by device type, under the names that torch itself has for them."""

import threading

import ms_adapter.pytorch as torch
from ms_adapter import _C

_core = _C.autocast
_CORE_DEVICES = ("cpu", "mindspore", "npu")
# Devices that PyTorch knows and we lack: what is set for them is kept, and acts on nothing.
_OTHER_DEVICES = {
    "cuda": "float16",
    "hpu": "bfloat16",
    "ipu": "float16",
    "maia": "bfloat16",
    "mps": "float16",
    "mtia": "float16",
    "xla": "bfloat16",
    "xpu": "float16",
}


class _Others(threading.local):
    def __init__(self):
        self.enabled = dict.fromkeys(_OTHER_DEVICES, False)
        self.dtypes = {kind: getattr(torch, name) for kind, name in _OTHER_DEVICES.items()}


_others = _Others()


def _known(device_type):
    """Whether the core knows the device; raises for what is no device type."""
    if device_type in _CORE_DEVICES:
        return True
    if device_type in _OTHER_DEVICES:
        return False
    if device_type == "meta":
        raise RuntimeError("autocast: meta tensors hold no numbers, so there is no dtype to cast them to.")
    known = ", ".join([*_CORE_DEVICES, *_OTHER_DEVICES])
    raise RuntimeError(f"autocast: '{device_type}' is no device type; those are {known}.")


def is_autocast_available(device_type):
    """Whether autocast knows a device type: "cpu", "cuda", "mindspore" and so on.

    >>> import ms_adapter.pytorch as torch
    >>> torch.amp.is_autocast_available("cpu"), torch.amp.is_autocast_available("meta")
    (True, False)
    """
    if device_type == "meta":
        return False
    _known(device_type)
    return True


def is_autocast_enabled(device_type="cuda", /):
    """Whether autocast is on here for a device type.

    >>> import ms_adapter.pytorch as torch
    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return _core.get(device_type)[0] if _known(device_type) else _others.enabled[device_type]


def set_autocast_enabled(*args):
    """``set_autocast_enabled(device_type, enabled)``; the device type may be left out, for "cuda"."""
    device_type, enabled = args if len(args) > 1 else ("cuda", *args)
    if _known(device_type):
        _core.set_enabled(device_type, enabled)
    else:
        _others.enabled[device_type] = bool(enabled)


def get_autocast_dtype(device_type, /):
    """The lower precision that autocast uses on a device: at first bfloat16 on the CPU.

    >>> import ms_adapter.pytorch as torch
    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _core.get(device_type)[1] if _known(device_type) else _others.dtypes[device_type]


def set_autocast_dtype(device_type, dtype, /):
    """Set what :func:`get_autocast_dtype` returns."""
    if not isinstance(dtype, torch.dtype):
        raise TypeError(f"set_autocast_dtype: expected a torch.dtype, got {type(dtype).__name__}.")
    if _known(device_type):
        _core.set_dtype(device_type, dtype)
    else:
        _others.dtypes[device_type] = dtype


def is_autocast_cache_enabled():
    """Whether autocast casts a weight once for a whole region, instead of at each use."""
    return _core.keeps_weights()


def set_autocast_cache_enabled(enabled, /):
    """Set what :func:`is_autocast_cache_enabled` returns."""
    _core.keeps_weights(enabled)


def autocast_increment_nesting():
    """One more autocast region is entered; returns how many are."""
    return _core.enter()


def autocast_decrement_nesting():
    """One autocast region is left; returns how many still are entered."""
    return _core.leave()


def clear_autocast_cache():
    """Forget the weights that autocast has cast."""
    _core.clear_cache()


def _of(device_type, short):
    """The older functions that have the device in their name."""

    def is_enabled():
        return is_autocast_enabled(device_type)

    def set_enabled(enabled, /):
        set_autocast_enabled(device_type, enabled)

    def get_dtype():
        return get_autocast_dtype(device_type)

    def set_dtype(dtype, /):
        set_autocast_dtype(device_type, dtype)

    made = {
        f"is_autocast_{short}_enabled": is_enabled,
        f"set_autocast_{short}_enabled": set_enabled,
        f"get_autocast_{short}_dtype": get_dtype,
        f"set_autocast_{short}_dtype": set_dtype,
    }
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"``{name.replace(f'_{short}', '')}`` for the device type {device_type!r}."
    return made


OLDER_NAMES = {**_of("cuda", "gpu"), **_of("cpu", "cpu"), **_of("ipu", "ipu"), **_of("xla", "xla")}
del OLDER_NAMES["is_autocast_gpu_enabled"], OLDER_NAMES["set_autocast_gpu_enabled"]  # PyTorch has no such
