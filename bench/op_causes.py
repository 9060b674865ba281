"""Why an operator is slower than PyTorch's: what `bench/ops.py --page` writes beside its figures."""

from __future__ import annotations

import re

# (pattern of "operator direction", cause); the first that matches holds.
CAUSES: list[tuple[str, str]] = []


def cause_of(op: str, direction: str) -> str:
    """The cause, or that it is not known."""
    case = f"{op} {direction}"
    return next((cause for pattern, cause in CAUSES if re.search(pattern, case)), "not looked into yet")
