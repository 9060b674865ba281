"""torch.accelerator: the device that speeds up work, whatever its name; on this machine there is none."""

_NEED_ONE = [
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def is_available():
    """False: there is no accelerator here."""
    return False


def device_count():
    """0: there is no accelerator here."""
    return 0


def current_accelerator(check_available=False):
    """None: there is no accelerator here."""
    return


def _refuse(name):
    def refuse(*args, **kwargs):
        raise RuntimeError(
            f"torch.accelerator.{name}: cannot access accelerator device when none is available. "
            "Check torch.accelerator.is_available() first."
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


globals().update((name, _refuse(name)) for name in _NEED_ONE)
