"""torch.multiprocessing: Python's multiprocessing, whose queues and pipes pass tensors by shared memory.

>>> import ms_adapter.pytorch as torch
>>> queue = torch.multiprocessing.SimpleQueue()
>>> queue.put(torch.ones(2))
>>> queue.get()
tensor([1., 1.])
"""

import multiprocessing as _python
import resource as _resource
from multiprocessing import *  # noqa: F403 - its __all__ is the list

from . import reductions
from .reductions import init_reductions
from .spawn import (
    ENV_VAR_PARALLEL_START,
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy"]
__all__ += _python.__all__

_STRATEGIES = {"file_descriptor", "file_system"}
_strategy = "file_descriptor"


def set_sharing_strategy(new_strategy):
    """Choose how tensors travel: "file_descriptor" or "file_system".

    Both pass descriptors of memory without a name, which nothing can leave behind. As PyTorch's,
    "file_system" is for processes that end, or are killed, before what they put into queues is received: a
    small process keeps it for them, which ends with the process that started the sender. It also raises the
    limit of open files to the most that the system allows.

    >>> set_sharing_strategy("file_descriptor")
    """
    global _strategy
    if new_strategy not in _STRATEGIES:
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {sorted(_STRATEGIES)}"
        )
    if new_strategy == "file_system":
        most = _resource.getrlimit(_resource.RLIMIT_NOFILE)[1]
        _resource.setrlimit(_resource.RLIMIT_NOFILE, (most, most))
    _strategy = new_strategy


def get_sharing_strategy():
    """The strategy that :func:`set_sharing_strategy` chose.

    >>> get_sharing_strategy()
    'file_descriptor'
    """
    return _strategy


def get_all_sharing_strategies():
    """The set of strategies.

    >>> sorted(get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return set(_STRATEGIES)


def _set_thread_name(name):
    """Name the current thread as `ps` and debuggers show it; 15 bytes of the name are kept."""
    with open("/proc/thread-self/comm", "w") as file:
        file.write(name[:15])


def _get_thread_name():
    """The name of the current thread."""
    with open("/proc/thread-self/comm") as file:
        return file.read().rstrip("\n")
