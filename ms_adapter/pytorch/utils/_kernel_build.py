"""Compiles users' kernels once for each content, into a folder that is the user's alone."""

import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

import ms_adapter

__all__ = ["build", "build_root", "compiler", "include_folder"]

_OF_PYTORCH = re.compile(r'#\s*include\s*[<"](torch/|ATen/|c10/|pybind11/)')
_FLAGS = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-shared"]
_WAY_OUT = (
    "ms_adapter has no ATen: write the computation as a kernel for ms_adapter/kernel.h (plain loops over "
    "pointers, see docs/cpp_extension.md), or in Python with torch.library.custom_op"
)


def include_folder():
    """The folder that has ``ms_adapter/kernel.h``."""
    return str(Path(ms_adapter.__file__).parent / "include")


def compiler():
    """The C++ compiler: that of the variable CXX, else c++, g++ or clang++. RuntimeError where there is
    none.
    """
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and (found := shutil.which(name.split()[0])):
            return found
    raise RuntimeError(
        "cpp_extension: no C++ compiler was found (c++, g++ or clang++). Install one, as with "
        "'apt-get install g++', or name it in the environment variable CXX."
    )


def build_root():
    """Where builds are kept: MS_ADAPTER_EXTENSIONS_DIR, TORCH_EXTENSIONS_DIR, or the user's cache folder."""
    named = os.environ.get("MS_ADAPTER_EXTENSIONS_DIR") or os.environ.get("TORCH_EXTENSIONS_DIR")
    if named:
        return Path(named)
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "ms_adapter" / "extensions"


def _private(folder):
    """Makes the folder for this user only: what lies there is loaded as code. PermissionError if it is
    another's.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = folder.stat()
    if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(
            f"cpp_extension: {folder} can be written by others, who could change what is loaded from it. "
            "Give another build_directory, or run: chmod 700 on it."
        )
    return folder


def refuse_pytorch(sources):
    """NotImplementedError for sources that need PyTorch's C++ or CUDA."""
    for path in sources:
        if Path(path).suffix in (".cu", ".cuh"):
            raise NotImplementedError(f"cpp_extension: {path} is CUDA, for which there is no device here.")
        found = _OF_PYTORCH.search(Path(path).read_text())
        if found:
            raise NotImplementedError(
                f"cpp_extension: {path} includes <{found[1]}...>, PyTorch's own C++, which ms_adapter cannot "
                f"compile. {_WAY_OUT}."
            )


def _digest(*parts):
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _content(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def _still_fresh(folder, name):
    """Whether the files that the build included are what they were then."""
    try:
        included = json.loads((folder / "included.json").read_text())
        return (folder / f"{name}.so").exists() and all(_content(p) == d for p, d in included.items())
    except (OSError, ValueError):
        return False


def _included(listing):
    """The files that a compiler's list of dependencies names."""
    text = Path(listing).read_text().replace("\\\n", " ").partition(":")[2]
    files = [part.replace("\\ ", " ") for part in re.split(r"(?<!\\)\s+", text) if part]
    return {path: _content(path) for path in files if not path.startswith("/usr/")}


def build(name, sources, cflags=(), ldflags=(), include_paths=(), build_directory=None, verbose=False):
    """The path of the library built from the sources; built anew only if something changed.

    RuntimeError with the compiler's text where it fails.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", name):
        raise ValueError(f"cpp_extension: the name must be an identifier, got {name!r}.")
    sources = [str(path) for path in ([sources] if isinstance(sources, (str, os.PathLike)) else sources)]
    refuse_pytorch(sources)
    cxx = compiler()
    version = subprocess.run([cxx, "--version"], capture_output=True, text=True, check=False).stdout
    options = [*_FLAGS, *cflags, *(f"-I{p}" for p in (include_folder(), *include_paths))]
    key = _digest(sorted(map(_content, sources)), options, list(ldflags), version)[:16]
    root = _private(Path(build_directory) if build_directory else build_root())
    folder = _private(_private(root / name) / key)
    if not _still_fresh(folder, name):
        _compile(cxx, options, sources, ldflags, folder, name, verbose)
    return folder / f"{name}.so"


def _compile(cxx, options, sources, ldflags, folder, name, verbose):
    """Builds beside the place and moves the result there: a second process sees all of it or nothing."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        made, listings, objects = Path(place) / f"{name}.so", [], []
        for i, source in enumerate(sources):
            objects.append(f"{place}/{i}.o")
            listings.append(f"{place}/{i}.d")
            plain = [flag for flag in options if flag != "-shared"]
            _run([cxx, *plain, "-MMD", "-MF", listings[-1], "-c", source, "-o", objects[-1]], name, verbose)
        _run([cxx, "-shared", "-o", str(made), *objects, *ldflags], name, verbose)
        included = {path: digest for listing in listings for path, digest in _included(listing).items()}
        (Path(place) / "included.json").write_text(json.dumps(included))
        os.replace(made, folder / f"{name}.so")
        os.replace(Path(place) / "included.json", folder / "included.json")


def _run(command, name, verbose):
    if verbose:
        print(" ".join(command))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(
            f"Error building extension '{name}': {' '.join(command)}\n{done.stdout}{done.stderr}"
        )
    if verbose and done.stderr:
        print(done.stderr)
