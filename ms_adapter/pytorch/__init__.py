"""PyTorch's names and behaviour on ms_adapter's core: ``import ms_adapter.pytorch as torch``.

Operators come from the registry (``_operators.install``), types from the core; what is Python lives in the
modules beside this one. Those say ``import ms_adapter.pytorch as torch`` and use ``torch`` when called.
"""
# ruff: noqa: I001 - the parts are imported in the order in which they need each other

import math as _math
import sys as _sys
import types as _types

from ms_adapter import _C
from ms_adapter._blas import library_path as _blas_path

_C.set_blas_path(_blas_path())

# ---- the core's types and constants: everything below may use them while it is imported ------------
_PRIVATE = {
    "accelerator",
    "ModuleBase",
    "SharedMemory",
    "add_custom_row",
    "autocast",
    "autograd",
    "call_custom",
    "adopt_tensor",
    "call_kernel",
    "call_operator",
    "call_row",
    "die_with_parent",
    "functions",
    "hand_to_class",
    "install_tensor_methods",
    "load_kernels",
    "on_device",
    "optim",
    "overridable",
    "package_tensor",
    "return_types",
    "rows",
    "set_accelerator",
    "set_backend",
    "set_blas_path",
    "set_global_module_hooks",
    "set_kernel",
    "set_overload_maker",
    "set_package",
    "set_parameter_type",
    "take_call_counts",
    "timeline",
    "transforms",
}
for _name in dir(_C):
    if _name[0] != "_" and _name not in _PRIVATE:
        _value = getattr(_C, _name)
        globals().update(
            _value if isinstance(_value, dict) else {_name: _value}
        )  # dtypes and the like by name
double, half, long, short = _C.dtypes["float64"], _C.dtypes["float16"], _C.dtypes["int64"], _C.dtypes["int16"]
float, int, cfloat, cdouble = (_C.dtypes[name] for name in ("float32", "int32", "complex64", "complex128"))
chalf, bit = _C.dtypes["complex32"], _C.dtypes["uint1"]
return_types = _types.ModuleType(f"{__name__}.return_types", "The named tuples that operators return.")
vars(return_types).update(_C.return_types)
_sys.modules[return_types.__name__] = return_types
pi, e, inf, nan, newaxis = _math.pi, _math.e, _math.inf, _math.nan, None
has_lapack, has_mkl, has_openmp, has_spectral = True, False, True, True
legacy_contiguous_format = contiguous_format  # noqa: F821 - of _C

# ---- Python parts ----------------------------------------------------------------------------------
from . import version
from .version import __version__
from . import __future__, __config__
from .autograd.grad_mode import enable_grad, inference_mode, no_grad, set_grad_enabled
from ._assertions import (
    _assert,
    _assert_async,
    _check,
    _check_index,
    _check_is_size,
    _check_not_implemented,
    _check_tensor_all,
    _check_tensor_all_with,
    _check_type,
    _check_value,
    _check_with,
)
from ._basics import (
    AcceleratorError,
    FatalError,
    JITException,
    OutOfMemoryError,
    compiled_with_cxx11_abi,
    get_device_module,
    get_file_path,
    get_num_interop_threads,
    init_num_threads,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_distributed,
    is_grad_enabled,
    is_inference_mode_enabled,
    is_storage,
    is_tensor,
    is_vulkan_available,
    is_warn_always_enabled,
    set_anomaly_enabled,
    set_default_tensor_type,
    set_flush_denormal,
    set_num_interop_threads,
    set_warn_always,
    thread_safe_generator,
    typename,
)
from ._settings import (
    are_deterministic_algorithms_enabled,
    get_deterministic_debug_mode,
    get_float32_matmul_precision,
    is_deterministic_algorithms_warn_only_enabled,
    set_deterministic_debug_mode,
    set_float32_matmul_precision,
    use_deterministic_algorithms,
)
from .amp._state import (
    OLDER_NAMES as _OLDER_NAMES,
    autocast_decrement_nesting,
    autocast_increment_nesting,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from .amp.autocast_mode import autocast
from .amp.grad_scaler import GradScaler, _amp_foreach_non_finite_check_and_unscale_, _amp_update_scale_
from . import autograd, functional, ops, random, storage, utils
from .functional import *  # noqa: F403 - its __all__ is the list
from .storage import TypedStorage
from ._tensor_str import set_printoptions
from . import _foreach, _tensor, _tensor_rare, _utils
from . import nn, optim
from .utils import checkpoint as _checkpoint
from . import accelerator, amp, backends, compiler, cpu, cuda, distributed, futures, hub, jit, npu
from . import masked, mps, mtia, multiprocessing, onnx, overrides, profiler, serialization, signal, sparse
from . import testing, types, xpu
from ._stream import Event, Stream
from ._creation import _sample_dirichlet
from ._removed import eig, lstsq, matrix_rank, solve, symeig
from ._symbolic import *  # noqa: F403 - its __all__ is the list
from .sparse._create import (
    SparseMethods as _SparseMethods,
    hspmm,
    smm,
    sparse_bsc_tensor,
    sparse_bsr_tensor,
    sparse_compressed_tensor,
    sparse_coo_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
    sspaddmm,
)
from .compiler import compile
from .serialization import load, save
from ._dispatch_keys import DispatchKey, DispatchKeySet
from ._tag import Tag
from . import _custom_ops, _dynamo, _inductor, _jit_internal, distributions, export, func, fx, library
from .func import vmap

globals().update(
    **_OLDER_NAMES, **storage.storage_classes(), **storage.tensor_classes(), **_foreach.FUNCTIONS
)
Storage = FloatStorage  # noqa: F405, F821 - the storages' default
for _methods in (_tensor.TensorMethods, _tensor_rare.RareMethods, _SparseMethods):
    _C.install_tensor_methods(_tensor._own(_methods))
_C.autograd.install_node_methods(_tensor.NODE_METHODS)

# ---- operators, and an explanation for every name that is not here ---------------------------------
from ms_adapter.mindspore import backend as _mindspore, on_import as _on_import

from . import _guide, _identity, _missing, _operators, _placeholders

_operators.install()
dsmm = spmm = mm  # noqa: F405, F821 - PyTorch's older names for what takes sparse tensors
hsmm, saddmm = hspmm, sspaddmm
_mindspore.install()
_on_import.watch()
multiprocessing.init_reductions()
_identity.pickle_under_own_names()
_placeholders.install()
_guide.install(__name__)
_sys.modules[f"{__name__}._C"] = _C  # `from torch._C import ...` finds the core
torch = _sys.modules[__name__]  # PyTorch's module has itself by this name, too
_missing.attach(f"{__name__}._C")
_missing.attach_everywhere()
