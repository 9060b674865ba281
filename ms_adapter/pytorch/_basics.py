"""Functions of torch itself that are neither operators nor in a module of their own."""

import warnings

import ms_adapter.pytorch as torch
from ms_adapter import _C

from . import storage as _storage

_said_compile = False


def is_tensor(obj, /):
    """Whether ``obj`` is a tensor."""
    return isinstance(obj, torch.Tensor)


def is_storage(obj, /):
    """Whether ``obj`` is a storage."""
    return isinstance(obj, (_storage.TypedStorage, _storage.UntypedStorage))


def typename(obj, /):
    """The type's name with its module, as "torch.FloatTensor" or "str"."""
    if isinstance(obj, torch.Tensor):
        return obj.type()
    cls = obj if isinstance(obj, type) else type(obj)
    module = cls.__module__
    return cls.__qualname__ if module in ("builtins", None) else f"{module}.{cls.__qualname__}"


def set_default_tensor_type(t, /):
    """The older way to set the default dtype: a type such as "torch.DoubleTensor"."""
    torch.set_default_dtype(_storage.dtype_of_type_name(t) if isinstance(t, str) else t.dtype)


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Accepted: the CPU kernels are deterministic anyway."""


def are_deterministic_algorithms_enabled():
    """Whether only deterministic kernels run: always so on the CPU."""
    return True


def is_deterministic_algorithms_warn_only_enabled():
    """False: nothing nondeterministic would run."""
    return False


def set_float32_matmul_precision(precision):
    """ "highest", "high" or "medium"; float32 products are exact float32 here in any case."""
    if precision not in ("highest", "high", "medium"):
        raise ValueError(
            f"Invalid float32 matmul precision {precision!r}: one of 'highest', 'high', 'medium'."
        )


def get_float32_matmul_precision():
    """ "highest": float32 products are exact float32."""
    return "highest"


def compile(model=None, **options):
    """``model`` itself: compiling is not supported yet, which is said once; everything runs eagerly."""
    global _said_compile
    if not _said_compile:
        _said_compile = True
        warnings.warn("torch.compile: ms_adapter runs the model eagerly; results are the same.", stacklevel=2)
    return (lambda function: function) if model is None else model


def is_grad_enabled():
    """Whether operations are recorded for backward here."""
    return _C.autograd.is_grad_enabled()


def is_inference_mode_enabled():
    """Whether inference mode is on here."""
    return _C.autograd.is_inference_mode_enabled()


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return _C.autograd.is_anomaly_enabled()


def is_autocast_enabled(device_type="cuda"):
    """False: mixed precision is not supported yet."""
    return False
