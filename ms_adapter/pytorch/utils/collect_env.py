"""torch.utils.collect_env: what to say about the machine and its packages when something goes wrong."""

import importlib.metadata
import os
import platform
import sys
from typing import NamedTuple

import ms_adapter.pytorch as torch
from ms_adapter import _C

_PACKAGES = (
    "ms_adapter",
    "mindspore",
    "numpy",
    "scipy",
    "torchvision",
    "safetensors",
    "scikit-learn",
    "torch",
)


class SystemEnv(NamedTuple):
    """What :func:`get_env_info` finds."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    libc_version: str
    python_version: str
    python_platform: str
    is_cuda_available: str
    pip_version: str
    pip_packages: str
    cpu_info: str


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def get_pip_packages():
    """The packages that matter here, with their versions, one a line."""
    found = ((package, _version(package)) for package in _PACKAGES)
    return "\n".join(f"{package}=={version}" for package, version in found if version)


def get_cpu_info():
    """The processor: its name where the system tells, its cores, the instruction set that kernels use."""
    name = platform.processor() or platform.machine()
    if os.path.exists("/proc/cpuinfo"):
        with open("/proc/cpuinfo") as file:
            name = next(
                (line.partition(":")[2].strip() for line in file if line.startswith("model name")), name
            )
    return f"{name}, {os.cpu_count()} processors, kernels use {_C.cpu_capability()}"


def get_env_info():
    """All of it, as a named tuple of texts."""
    return SystemEnv(
        torch_version=str(torch.__version__),
        is_debug_build="False",
        cuda_compiled_version="None",
        os=platform.platform(),
        libc_version="-".join(platform.libc_ver()),
        python_version=sys.version.replace("\n", ""),
        python_platform=platform.platform(),
        is_cuda_available=str(torch.cuda.is_available()),
        pip_version=str(_version("pip")),
        pip_packages=get_pip_packages(),
        cpu_info=get_cpu_info(),
    )


def pretty_str(envinfo):
    """What :func:`get_env_info` found as lines of a report."""
    lines = []
    for name, value in envinfo._asdict().items():
        label = name.replace("_", " ")
        lines.append(f"{label}:\n{value}" if "\n" in value else f"{label}: {value}")
    return "\n".join(lines)


def get_pretty_env_info():
    """The report.

    >>> from ms_adapter.pytorch.utils.collect_env import get_pretty_env_info
    >>> get_pretty_env_info().splitlines()[1]
    'is debug build: False'
    """
    return pretty_str(get_env_info())


def main():
    """Print the report."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
