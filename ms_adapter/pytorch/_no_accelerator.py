"""What the module of an accelerator that is not here answers: nothing there, errors when it is needed."""

import sys

_ZERO = ("device_count", "memory_allocated", "memory_reserved", "max_memory_allocated", "max_memory_reserved")
_FALSE = ("is_available", "is_initialized", "is_bf16_supported")
_NOTHING = (
    "empty_cache",
    "manual_seed",
    "manual_seed_all",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
)
NEED_ONE = (
    "current_device",
    "current_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "initial_seed",
    "is_current_stream_capturing",
    "mem_get_info",
    "memory_stats",
    "set_device",
    "synchronize",
)
_CLASSES = ("Event", "Stream")


def _answer(name, value, text):
    def answer(*args, **kwargs):
        return value

    answer.__name__ = answer.__qualname__ = name
    answer.__doc__ = text
    return answer


def _complaint(module, name):
    kind = module.rpartition(".")[2]
    return (
        f"torch.{kind}.{name}: no {kind.upper()} device is available. "
        f"Check torch.{kind}.is_available() first."
    )


def refusing_function(module, name, error=RuntimeError):
    """A function that raises: there is no device to ask."""

    def refuse(*args, **kwargs):
        raise error(_complaint(module, name))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = module
    refuse.__doc__ = "Raises: there is no such device."
    return refuse


def refusing_class(module, name, bases=()):
    """A class that nothing is an instance of: there is no device to make one on."""

    def __new__(cls, *args, **kwargs):
        raise RuntimeError(_complaint(module, name))

    doc = "Has no instances: there is no such device."
    return type(name, bases, {"__new__": __new__, "__module__": module, "__doc__": doc})


def _rng_states():
    """No states: there are no devices."""
    return []


def _set_rng_states(new_states):
    """Nothing to set for no devices."""


class device:
    """A context that makes a device of a negative index (none) the current one; others raise."""

    def __init__(self, device):
        self.idx = device if isinstance(device, int) else getattr(device, "index", None)

    def __enter__(self):
        if self.idx is None or self.idx >= 0:
            raise RuntimeError(f"device: there is no accelerator with index {self.idx} on this machine.")

    def __exit__(self, *exception):
        return False


def fill(module):
    """Give a module the names that accelerators' modules share, where it has none of its own."""
    names = {name: _answer(name, 0, "0: there is no such device.") for name in _ZERO}
    names |= {name: _answer(name, False, "False: there is no such device.") for name in _FALSE}
    names |= {name: _answer(name, None, "Nothing to do without such a device.") for name in _NOTHING}
    names |= {name: refusing_function(module, name) for name in NEED_ONE}
    names |= {name: refusing_class(module, name) for name in _CLASSES}
    names |= {"get_rng_state_all": _rng_states, "set_rng_state_all": _set_rng_states, "device": device}
    own = vars(sys.modules[module])
    for name, value in names.items():
        own.setdefault(name, value)
