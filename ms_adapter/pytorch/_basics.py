"""Functions of torch itself that are neither operators nor in a module of their own."""

import os

import ms_adapter.pytorch as torch
from ms_adapter import _C

from . import storage as _storage

_warn_always = False
_interop_threads = 1


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


def is_warn_always_enabled():
    """Whether warnings that are given once are repeated: Python's ``warnings`` filters decide here."""
    return _warn_always


def set_warn_always(b, /):
    """Remembered, see :func:`is_warn_always_enabled`."""
    global _warn_always
    _warn_always = bool(b)


def compiled_with_cxx11_abi():
    """True, as in all of PyTorch's newer builds."""
    return True


def get_file_path(*path_components):
    """The path of a file beside this package's files."""
    return os.path.join(os.path.dirname(os.path.dirname(__file__)), *path_components)


def set_flush_denormal(mode, /):
    """False: the smallest numbers are never flushed to 0."""
    return False


def get_num_interop_threads():
    """What was set, 1 at first: operators run one after another in any case."""
    return _interop_threads


def set_num_interop_threads(n, /):
    """Accepted for at least one thread: operators run one after another in any case."""
    global _interop_threads
    if n <= 0:
        raise RuntimeError(f"set_num_interop_threads: expected a positive number of threads, got {n}.")
    _interop_threads = n


def is_distributed(input):
    """False: a tensor lies in one process."""
    return False


def is_vulkan_available():
    """False: there are no Vulkan devices."""
    return False


def is_grad_enabled():
    """Whether operations are recorded for backward here."""
    return _C.autograd.is_grad_enabled()


def is_inference_mode_enabled():
    """Whether inference mode is on here."""
    return _C.autograd.is_inference_mode_enabled()


def is_anomaly_enabled():
    """Whether anomaly mode is on."""
    return _C.autograd.is_anomaly_enabled()


def is_anomaly_check_nan_enabled():
    """Whether anomaly mode looks for NaN in gradients."""
    return _C.autograd.is_anomaly_check_nan_enabled()


def set_anomaly_enabled(mode, check_nan=True):
    """Anomaly mode on or off, see ``torch.autograd.set_detect_anomaly``."""
    _C.autograd.set_anomaly(mode, check_nan)


def init_num_threads():
    """Nothing: threads are started when they are first needed."""


def get_device_module(device=None):
    """The module of a device's type, as ``torch.cpu``."""
    kind = "cpu" if device is None else torch.device(device).type
    module = getattr(torch, kind, None)
    if module is None:
        raise RuntimeError(f"get_device_module: there is no module torch.{kind}.")
    return module


def thread_safe_generator():
    """None: outside of a DataLoader's worker threads the default generator is used."""


class AcceleratorError(RuntimeError):
    """A fault of an accelerator; none is raised here."""


class OutOfMemoryError(RuntimeError):
    """An accelerator has no memory left; none is raised here: the CPU's is a RuntimeError."""


class FatalError(RuntimeError):
    """A fault after which a process cannot go on; none is raised here."""


class JITException(RuntimeError):
    """A fault of TorchScript; none is raised here."""
