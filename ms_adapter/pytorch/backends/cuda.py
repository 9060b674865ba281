"""torch.backends.cuda: not here; its switches are kept as they are set."""

import contextlib
import enum

import ms_adapter.pytorch as torch


class cuBLASModule:
    """Switches of matrix products. ``allow_tf32`` is what ``set_float32_matmul_precision`` sets too."""

    _KEPT = {
        "allow_fp16_accumulation": False,
        "allow_fp16_reduced_precision_reduction": True,
        "allow_bf16_reduced_precision_reduction": True,
        "fp32_precision": "none",
    }

    def __init__(self):
        self.__dict__.update(self._KEPT)

    @property
    def allow_tf32(self):
        """Whether products of float32 may round to fewer bits."""
        return torch.get_float32_matmul_precision() != "highest"

    def __setattr__(self, name, value):
        if name == "allow_tf32":
            torch.set_float32_matmul_precision("high" if value else "highest")
        elif name in self._KEPT:
            self.__dict__[name] = value
        else:
            raise AttributeError(f"torch.backends.cuda.matmul has no switch '{name}'.")


matmul = cuBLASModule()


def is_built():
    """False: CUDA is not built in."""
    return False


# ---- which kernels attention may use ---------------------------------------------------------------
_attention = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True, "reduction": False}


def _switch(kind):
    def enabled():
        return _attention[kind]

    def enable(enabled):
        _attention[kind] = bool(enabled)

    enabled.__doc__ = "What was set last; attention has one kernel here."
    enable.__doc__ = "Accepted: attention has one kernel here."
    return enabled, enable


flash_sdp_enabled, enable_flash_sdp = _switch("flash")
mem_efficient_sdp_enabled, enable_mem_efficient_sdp = _switch("mem_efficient")
math_sdp_enabled, enable_math_sdp = _switch("math")
cudnn_sdp_enabled, enable_cudnn_sdp = _switch("cudnn")
fp16_bf16_reduction_math_sdp_allowed, allow_fp16_bf16_reduction_math_sdp = _switch("reduction")


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    """The switches of attention's kernels for a block; there is one kernel here."""
    before = dict(_attention)
    _attention.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield {}
    finally:
        _attention.update(before)


def is_flash_attention_available():
    """False: it is a CUDA kernel."""
    return False


def can_use_flash_attention(params, debug=False):
    """False: it is a CUDA kernel."""
    return False


def can_use_efficient_attention(params, debug=False):
    """False: it is a CUDA kernel."""
    return False


def can_use_cudnn_attention(params, debug=False):
    """False: it is a CUDA kernel."""
    return False


# ---- which libraries compute -----------------------------------------------------------------------
class _LinalgBackend(enum.Enum):
    Default = 0
    Cusolver = 1
    Magma = 2


class _BlasBackend(enum.Enum):
    Default = 0
    Cublas = 1
    Cublaslt = 2
    Ck = 3


def _preferred(kinds, first):
    kept = [first]

    def preferred(backend=None):
        if isinstance(backend, str):
            found = kinds.__members__.get(backend.capitalize())
            if found is None:
                raise RuntimeError(
                    f"'{backend}' is no such library; those are {', '.join(kinds.__members__).lower()}."
                )
            backend = found
        if backend is not None:
            kept[0] = backend
        return kept[0]

    preferred.__doc__ = (
        "Sets, where it is given, and returns the library of CUDA's operators; none computes here."
    )
    return preferred


preferred_linalg_library = _preferred(_LinalgBackend, _LinalgBackend.Default)
preferred_blas_library = _preferred(_BlasBackend, _BlasBackend.Cublas)


class cuFFTPlanCacheManager:
    """CUDA's plans of Fourier transforms: asking for them raises."""

    def __getattr__(self, name):
        if name.startswith("__"):  # Python's own questions
            raise AttributeError(name)
        raise RuntimeError(f"torch.backends.cuda.cufft_plan_cache.{name}: no CUDA device is available.")

    def __getitem__(self, device):
        raise RuntimeError(f"torch.backends.cuda.cufft_plan_cache[{device!r}]: no CUDA device is available.")


cufft_plan_cache = cuFFTPlanCacheManager()
