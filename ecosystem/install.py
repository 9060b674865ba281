"""Installs what the tables here name, without what the libraries require themselves: torch is ours."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from importlib.machinery import PathFinder
from pathlib import Path


def refuse_torch() -> None:
    """End the process where PyTorch itself can be imported: what runs beside it may take it for ours.

    Asked of the folders that imports search, which knows nothing of our own `torch`.
    """
    found = PathFinder.find_spec("torch")
    if found is None:
        return
    needs_it = {d.name for d in importlib.metadata.distributions() if _requires_torch(d)}
    raise SystemExit(
        f"PyTorch is installed beside the libraries, at {found.origin or found.submodule_search_locations}: "
        "what would run under ms_adapter may run under it. Uninstall torch there, or make the environment "
        f"anew. Installed packages that require it: {', '.join(sorted(needs_it)) or 'none'}."
    )


def _requires_torch(package: importlib.metadata.Distribution) -> bool:
    return any(re.match(r"torch(?![\w.-])(?!.*extra ==)", need) for need in package.requires or ())


def main() -> None:
    """Run pip twice: for the libraries and those of their needs that require torch, and for the rest."""
    libraries, own_tests, scripts = (
        tomllib.loads((Path(__file__).parent / name).read_text())
        for name in ("libraries.toml", "own_tests.toml", "scripts.toml")
    )
    pinned = {name: f"{name}=={entry['version']}" for name, entry in libraries.items()}
    needs = {need for entry in libraries.values() for need in entry["needs"]} - pinned.keys()
    needs |= {need for entry in own_tests.values() for need in entry.get("needs", [])}
    needs |= set(scripts["needs"]) - pinned.keys()
    needs |= {"numpy", "scipy-openblas32", "pytest"}  # ours, and what own_tests.py runs
    alone = {
        "einx",
        "linear_operator",
        "lightning-utilities",
        "pytorch-lightning",
        "torch_einops_utils",
        "jaxtyping",
    }
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*pip, *sorted(needs - alone)], check=True)
    subprocess.run([*pip, "--no-deps", *pinned.values(), *sorted(needs & alone)], check=True)
    refuse_torch()


if __name__ == "__main__":
    main()
