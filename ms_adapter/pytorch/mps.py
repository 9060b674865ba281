"""torch.mps: the answers of a machine without such a device."""

from . import _no_accelerator

_no_accelerator.fill(__name__)

current_allocated_memory = _no_accelerator.refusing_function(__name__, "current_allocated_memory")
driver_allocated_memory = _no_accelerator.refusing_function(__name__, "driver_allocated_memory")
recommended_max_memory = _no_accelerator.refusing_function(__name__, "recommended_max_memory")
