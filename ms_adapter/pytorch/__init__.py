"""PyTorch's names and behaviour on ms_adapter's core: ``import ms_adapter.pytorch as torch``.

Operators come from the registry (``_operators.install``), types from the core; what is Python lives in the
modules beside this one. Those say ``import ms_adapter.pytorch as torch`` and use ``torch`` when called.
"""
# ruff: noqa: I001 - the parts are imported in the order in which they need each other

import math as _math

from ms_adapter import _C

# ---- the core's types and constants: everything below may use them while it is imported ------------
Tensor = _C.Tensor
dtype, device, Size, layout, memory_format = _C.dtype, _C.device, _C.Size, _C.layout, _C.memory_format
Generator, finfo, iinfo = _C.Generator, _C.finfo, _C.iinfo
UntypedStorage = _C.UntypedStorage
globals().update(**_C.dtypes, **_C.layouts, **_C.memory_formats)
float, double, half = _C.dtypes["float32"], _C.dtypes["float64"], _C.dtypes["float16"]
long, int, short = _C.dtypes["int64"], _C.dtypes["int32"], _C.dtypes["int16"]
cfloat, cdouble = _C.dtypes["complex64"], _C.dtypes["complex128"]
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None

# ---- Python parts ----------------------------------------------------------------------------------
from . import version
from .version import __version__
from . import __future__
from .autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._basics import (
    are_deterministic_algorithms_enabled,
    compile,
    get_default_device,
    get_default_dtype,
    get_float32_matmul_precision,
    is_anomaly_enabled,
    is_autocast_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_storage,
    is_tensor,
    set_default_device,
    set_default_dtype,
    set_default_tensor_type,
    set_float32_matmul_precision,
    typename,
    use_deterministic_algorithms,
)
from . import autograd, random, storage, utils
from .random import default_generator, fork_rng, get_rng_state, initial_seed, manual_seed, seed, set_rng_state
from .storage import TypedStorage
from ._tensor_str import set_printoptions
from . import _tensor, _utils
from . import nn, optim
from . import backends, cuda, serialization, testing
from .serialization import load, save

globals().update(storage.storage_classes())
_C.install_tensor_methods(_tensor.METHODS)
_C.autograd.install_node_methods(_tensor.NODE_METHODS)

# ---- operators, and an explanation for every name that is not here ---------------------------------
from . import _missing, _operators

for _name in dir(_C):  # functions of the core that are no rows: tensor, from_numpy, set_num_threads ...
    if not _name.startswith("_") and callable(getattr(_C, _name)):
        globals().setdefault(_name, getattr(_C, _name))
_operators.install()
_missing.attach_everywhere()
