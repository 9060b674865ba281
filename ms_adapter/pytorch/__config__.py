"""torch.__config__: what this build consists of, and how it computes in parallel."""

import os
import platform

import ms_adapter.pytorch as torch
from ms_adapter import _C


def show():
    """The libraries and the instruction set, as text.

    >>> import ms_adapter.pytorch as torch
    >>> print(torch.__config__.show().splitlines()[0])
    ms_adapter built with:
    """
    lines = [
        f"PyTorch's interface {torch.__version__}",
        f"Compiler of Python: {platform.python_compiler()}",
        "BLAS and LAPACK: OpenBLAS",
        "oneDNN",
        "OpenMP",
        f"CPU capability usage: {_C.cpu_capability()}",
        f"Machine: {platform.machine()}",
    ]
    return "\n".join(["ms_adapter built with:", *(f"  - {line}" for line in lines), ""])


def parallel_info():
    """The numbers of threads, as text."""
    lines = [f"get_num_threads() : {torch.get_num_threads()}"]
    lines.append(f"get_num_interop_threads() : {torch.get_num_interop_threads()}")
    lines.append(f"processors : {os.cpu_count()}")
    lines.append(f"OMP_NUM_THREADS : {os.environ.get('OMP_NUM_THREADS', '[not set]')}")
    return "\n".join([*lines, "parallel backend: OpenMP", ""])
