"""Whether two sides' results agree: the same structure, numbers within a tolerance."""

from __future__ import annotations

import math
from typing import Any


def difference(got: Any, want: Any, tolerance: float, path: str = "") -> str | None:
    """The first place where nested results part, or None.

    A number may differ by ``tolerance`` relative to the larger of the two, or to 1.

    Example:
        >>> difference([1.0, 2.0], [1.0, 2.1], 1e-3)
        'at [1]: 2.0 for 2.1'
    """
    if isinstance(want, dict) and isinstance(got, dict) and got.keys() == want.keys():
        found = (difference(got[key], want[key], tolerance, f"{path}[{key!r}]") for key in want)
        return next(filter(None, found), None)
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        found = (
            difference(a, b, tolerance, f"{path}[{i}]")
            for i, (a, b) in enumerate(zip(got, want, strict=True))
        )
        return next(filter(None, found), None)
    if _near(got, want, tolerance):
        return None
    return f"at {path or 'the top'}: {_short(got)} for {_short(want)}"


def _near(got: Any, want: Any, tolerance: float) -> bool:
    numbers = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in (got, want))
    if not numbers or got == want:
        return bool(got == want)
    if math.isnan(got) or math.isnan(want):
        return math.isnan(got) and math.isnan(want)
    return abs(got - want) <= tolerance * max(1.0, abs(got), abs(want))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
