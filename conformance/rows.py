"""Which items test an operator that has a row in the registry: `--rows` keeps to those."""

from __future__ import annotations

import tomllib
from pathlib import Path

REGISTRY = Path(__file__).resolve().parent.parent / "ops"


def public_names(registry: Path = REGISTRY) -> set[str]:
    """The dotted names, below torch, under which the rows are public; methods by their plain name."""
    names: set[str] = set()
    for file in registry.glob("**/*.toml"):
        for row in tomllib.loads(file.read_text()).get("op", []):
            name = row["schema"].partition("(")[0].partition(".")[0].strip()
            names.update(f"{space}.{name}".lstrip(".") for space in row.get("namespace", [""]))
            names.update(row.get("alias", []))
            if "method" in row.get("forms", []):
                names.add(name)
    return names


def has_row(item: str, names: set[str]) -> bool:
    """Whether an item of the ops suite (`add.variant@float32`) tests one of the names."""
    path = item.partition("@")[0].split(".")
    return any(".".join(path[:n]) in names for n in range(1, len(path) + 1))
