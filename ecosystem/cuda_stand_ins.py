"""Lets PyPI's torchvision, built for a PyTorch with CUDA, load its operators beside one without.

Its libraries name functions of CUDA that they call for CUDA tensors only. Empty functions of those names are
enough to load them, and its operators for the CPU are then the oracle that ours are compared with.
"""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from pathlib import Path

RUNTIME = "libcudart.so.13"
LIBRARIES = (RUNTIME, "libc10_cuda.so", "libtorch_cuda.so")  # what torchvision's libraries ask for by name
_DATA = ("9allocatorE",)  # how names end that are variables
_TORCH = ("libc10.so", "libtorch_cpu.so", "libtorch_python.so", "libtorch.so")


def load() -> bool:
    """Load the stand-ins, made at first use and kept in torchvision's folder; False without torchvision.

    OSError or CalledProcessError where they cannot be made (no nm, no compiler).
    """
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None:
        return False
    folder = Path(spec.origin).with_name("cuda_stand_ins")
    if not (folder / LIBRARIES[-1]).exists():
        folder.mkdir(exist_ok=True)
        _make_all(folder)
    for library in LIBRARIES:
        ctypes.CDLL(str(folder / library), mode=ctypes.RTLD_GLOBAL)
    return True


def _make_all(folder: Path) -> None:
    torch_spec = importlib.util.find_spec("torch")
    if torch_spec is None or torch_spec.origin is None:
        raise OSError("PyTorch is not installed, beside which torchvision would be loaded")
    wanted, known = set[str](), set[str]()
    for library in ("_C.so", "image.so"):
        wanted |= _names(folder.with_name(library), "--undefined-only")
    for library in _TORCH:
        known |= _names(Path(torch_spec.origin).parent / "lib" / library, "--defined-only")
    runtime = {name.partition("@")[0] for name in wanted if f"@{RUNTIME}" in name}
    others = {name for name in wanted if "@" not in name and "cuda" in name and name not in known}
    for library, names in zip(LIBRARIES, (runtime, others, set[str]()), strict=True):
        _make(folder / library, names)


def _names(library: Path, which: str) -> set[str]:
    done = subprocess.run(["nm", "-D", which, str(library)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines() if line.strip()}


def _make(library: Path, names: set[str]) -> None:
    """A library of functions that return 0, or the address of some room where one registers there."""
    lines = ["static char room[4096];"]
    for name in sorted(names):
        if name.endswith(_DATA):
            lines.append(f"void* {name}[16];")
        else:
            value = "room" if name == "__cudaRegisterFatBinary" else "0"
            lines.append(f"void* {name}(void) {{ return {value}; }}")
    source, versions = library.with_suffix(".c"), library.with_suffix(".map")
    source.write_text("\n".join(lines) + "\n")
    versions.write_text(f"{library.name} {{ global: *; }};\n")
    flags = [f"-Wl,-soname,{library.name}"]
    flags += [f"-Wl,--version-script={versions}"] if library.name == RUNTIME else []
    subprocess.run(["cc", "-w", "-shared", "-fPIC", "-o", library, source, *flags], check=True)
