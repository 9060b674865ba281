"""torch.distributed for one process: every collective is answered as a group of one answers it.

A script written for ``torchrun`` runs unchanged as a single process. Several processes that exchange tensors
are not supported yet, and asking for them raises an error that says so. The names that only serve such jobs
(FSDP, DTensor, pipelines) can be imported, and raise when they are used.
"""

from . import constants, distributed_c10d, utils
from ._group import DistBackendError, DistError, DistNetworkError, DistStoreError, QueueEmptyError
from ._launch import (
    get_node_local_rank,
    is_torchelastic_launched,
)
from .constants import default_pg_timeout
from .distributed_c10d import *  # noqa: F403 - its __all__ is the list
from .distributed_c10d import _rank_not_in_group


def is_available():
    """True: there are process groups, of one process each.

    >>> import ms_adapter.pytorch as torch
    >>> torch.distributed.is_available(), torch.distributed.is_initialized()
    (True, False)
    """
    return True
