"""Installs what the tables here name, without what the libraries require themselves: torch is ours."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path


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


if __name__ == "__main__":
    main()
