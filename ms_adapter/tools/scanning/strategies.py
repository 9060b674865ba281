"""What to do about a name that ms_adapter lacks: the first of four ways that serves."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import ms_adapter

EQUIVALENT, COMPOSITION, CUSTOM, ASK = "equivalent", "composition", "custom", "ask"
KINDS = (EQUIVALENT, COMPOSITION, CUSTOM, ASK)
# Where PyTorch's operators are: an unknown function there can be an operator of one's own.
OPERATORS = ("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft", "torch.special")
ANY_SCHEMA = "(Tensor input) -> Tensor"


@dataclass(frozen=True)
class Strategy:
    """One of the four kinds; `use` is what to write, a schema, or what an issue has to tell; `code` runs."""

    kind: str
    use: str
    code: str = ""

    def __str__(self) -> str:
        return {
            EQUIVALENT: f"use {self.use}",
            COMPOSITION: f"use the function {self.use} that the scan shows",
            CUSTOM: f"write an operator {self.use}: ms-adapter scan --skeleton NAME -o FOLDER",
            ASK: f"ask, and tell {self.use}",
        }[self.kind]


@functools.cache
def strategy(name: str) -> Strategy:
    """The way out for a name that is missing, else for what it is a part of."""
    from ms_adapter.pytorch import _missing

    at = name
    while at.count("."):
        for present in (False, True):
            if key := _missing.entry(at, present):
                entry = _missing.table(present)[key]
                return from_entry(at, entry["strategy"], entry.get("use", at.rpartition(".")[2]))
        at = at.rpartition(".")[0]
    space, _, last = name.rpartition(".")
    if space in OPERATORS and last.islower() and not last.startswith("__"):
        return Strategy(CUSTOM, f"{last}{ANY_SCHEMA}")
    return Strategy(ASK, f"what the program does with {last}")


def from_entry(name: str, kind: str, use: str) -> Strategy:
    if kind == COMPOSITION:
        from .compositions import code

        return Strategy(kind, use, code(use))
    return Strategy(kind, name.rpartition(".")[2] + use if kind == CUSTOM else use)


def issue(name: str, reason: str, places: Sequence[str]) -> str:
    """The text of an issue that asks for a name."""
    shown = [f"- {place}" for place in places[:10]]
    if len(places) > 10:
        shown.append(f"- and {len(places) - 10} more")
    lines = [
        f"Title: {name} is missing",
        "",
        f"ms_adapter {ms_adapter.__version__} has no {name}: {reason}.",
        f"Please tell {strategy(name).use}.",
        "",
        f"Used in {len(places)} places:" if places else "Used in: (place and a few lines around it)",
        *shown,
        "",
        "Shapes and dtypes it is called with (ms-adapter scan --trace shows them under PyTorch):",
    ]
    return "\n".join(lines) + "\n"
