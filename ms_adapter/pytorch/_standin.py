"""What torch.cuda answers, and torch.npu with it: for the accelerator, or for the CPU that stands in for it.

A script that asks first gets the truth: ``is_available()`` is False and ``device_count()`` 0 on a machine
without an accelerator. One that does not ask runs all the same: what it wants done to the accelerator is done
to the CPU, which is said once.
"""

import collections
import os
import platform
import types

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = [
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_gencode_flags",
    "get_rng_state",
    "get_rng_state_all",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "synchronize",
]


def is_available():
    """Whether this machine has an accelerator."""
    return _C.accelerator().type != "cpu"


def device_count():
    """How many accelerators this process uses: 0 or 1."""
    return int(is_available())


def meant(device=None):
    """The device that a script means by ``device``: None and a number are the accelerator.

    Says once that it is the CPU where there is none.
    """
    return torch.device("cuda" if device is None or isinstance(device, int) else device)


def meant_npu(device=None):
    """As :func:`meant`, for scripts that say `npu`: RuntimeError where there is none and none was chosen."""
    return torch.device("npu" if device is None or isinstance(device, int) else device)


def synchronize(device=None):
    """Nothing to wait for: a call's work is done when it returns, on every device that there is so far."""
    meant(device)


def init():
    """Nothing to initialise."""


def is_initialized():
    """Whether there is an accelerator."""
    return is_available()


def is_bf16_supported(including_emulation=True):
    """Whether there is an accelerator: those that we know compute in bfloat16."""
    return is_available()


def current_device():
    """0: the only one."""
    meant()
    return 0


def set_device(device):
    """Nothing to choose from: there is one device, or the CPU stands in for it."""
    meant(device)


def get_device_name(device=None):
    """The name of the accelerator, or of the machine's processor."""
    kind = meant(device).type
    return f"{platform.machine()} CPU" if kind == "cpu" else kind


def get_device_capability(device=None):
    """(0, 0): no generation of CUDA."""
    meant(device)
    return 0, 0


def _bytes_of_memory(key):
    return os.sysconf(key) * os.sysconf("SC_PAGE_SIZE")


def mem_get_info(device=None):
    """(free, all) bytes of the machine's memory."""
    meant(device)
    return _bytes_of_memory("SC_AVPHYS_PAGES"), _bytes_of_memory("SC_PHYS_PAGES")


def get_device_properties(device=None):
    """An object with ``name``, ``total_memory`` (bytes), ``multi_processor_count``, ``major``, ``minor``."""
    return types.SimpleNamespace(
        name=get_device_name(device),
        total_memory=_bytes_of_memory("SC_PHYS_PAGES"),
        multi_processor_count=os.cpu_count(),
        major=0,
        minor=0,
    )


class device:
    """``with torch.cuda.device(0)``: changes nothing, as there is one device."""

    def __init__(self, device):
        self.idx = device

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass


class device_of(device):
    """``with torch.cuda.device_of(tensor)``: changes nothing, as there is one device."""


def current_stream(device=None):
    """The device's stream."""
    return torch.Stream(meant(device))


default_stream = current_stream


def set_stream(stream):
    """Nothing to choose from: there is one stream."""


def stream(stream):
    """A context in which work is given to ``stream``."""
    from ._stream import StreamContext

    return StreamContext(stream)


def is_current_stream_capturing():
    """False: graphs are not captured."""
    return False


def manual_seed(seed):
    """Nothing to seed: ``torch.manual_seed`` seeds the one generator, as without CUDA in PyTorch."""


manual_seed_all = manual_seed


def get_rng_state(device="cuda"):
    """The state of the generator behind the device: a uint8 tensor on ``cpu``."""
    meant(device)
    return torch.get_rng_state()


def set_rng_state(new_state, device="cuda"):
    """Set what :func:`get_rng_state` returned."""
    meant(device)
    torch.set_rng_state(new_state)


def get_rng_state_all():
    """The states of all accelerators' generators: none is apart from the CPU's."""
    return []


def set_rng_state_all(new_states):
    """Set what :func:`get_rng_state_all` returned."""


def seed():
    """Seed the generator behind the device with a number of its own."""
    torch.seed()


seed_all = seed


def initial_seed():
    """The seed of the generator behind the device."""
    return torch.initial_seed()


def empty_cache():
    """No cache to empty."""


def ipc_collect():
    """Nothing to collect."""


def memory_allocated(device=None):
    """0 bytes: an accelerator's memory is not counted, and the CPU's is not an accelerator's."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated
memory_cached = max_memory_cached = memory_allocated


def memory_stats(device=None):
    """An empty mapping: see :func:`memory_allocated`."""
    return collections.OrderedDict()


def memory_snapshot():
    """An empty list: see :func:`memory_allocated`."""
    return []


def memory_summary(device=None, abbreviated=False):
    """A text that says that memory is not counted."""
    return "ms_adapter counts no memory of an accelerator.\n"


def reset_peak_memory_stats(device=None):
    """No statistics to reset."""


reset_accumulated_memory_stats = reset_max_memory_allocated = reset_peak_memory_stats
reset_max_memory_cached = reset_peak_memory_stats


def set_per_process_memory_fraction(fraction, device=None):
    """Accepted: memory is the machine's."""


def can_device_access_peer(device, peer_device):
    """False: there is no second device."""
    return False


def get_arch_list():
    """No architectures: nothing is compiled for CUDA."""
    return []


def get_gencode_flags():
    """No flags: nothing is compiled for CUDA."""
    return ""
