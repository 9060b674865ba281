"""Rounding or fault: how far two values may be apart, by the reference's own spread."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from .chunks import Chunk

_SPREADS = 8  # how many times the reference's own spread is still rounding
_UNITS = 16  # of the last place of the largest element: what any order of operations may cost
_EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7,
        "complex64": 2.0**-23, "complex128": 2.0**-52}  # fmt: skip
_LOST_IN_SUMS = 4  # units for each square root of what a sum takes together


@dataclass
class Verdict:
    """Whether two values agree; if not, how far they are apart and how far they might be."""

    agree: bool
    what: str = ""  # "values", "shape", "dtype", "nan"
    distance: float = 0.0
    allowed: float = 0.0
    size: float = 0.0
    detail: str = ""


def spread_of(reference: np.ndarray, others: Iterable[np.ndarray | None]) -> float | None:
    """The largest distance of the reference to its own perturbed runs; None if it cannot be told."""
    found = None
    for other in others:
        if other is None or other.shape != reference.shape:
            continue
        distance = _largest(_apart(reference, other))
        found = distance if found is None else max(found, distance)
    return found


def _wide(array: np.ndarray) -> np.ndarray:
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64, copy=False)


def _apart(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.abs(_wide(a) - _wide(b))


def _largest(distances: np.ndarray) -> float:
    finite = distances[np.isfinite(distances)]
    return float(finite.max()) if finite.size else 0.0


class Judge:
    """Compares values of one chunk."""

    def __init__(self, reference: Chunk, ours: Chunk, check_dtype: bool) -> None:
        self._reference, self._ours, self._check_dtype = reference, ours, check_dtype

    def verdict(self, r: int, o: int, others: Sequence[np.ndarray | None], inputs: float = 0.0) -> Verdict:
        """Compare value r of the reference with value o of ours.

        `inputs` is the largest magnitude among what a sum was taken of, scaled by the root of its length: the
        error that such a sum may have, however small it comes out.
        """
        a, b = self._reference.array(r), self._ours.array(o)
        if a is None or b is None:
            return Verdict(True)
        about, other = self._reference.values[r], self._ours.values[o]
        if about.shape != other.shape:
            return Verdict(False, "shape", detail=f"{about.shape} in the reference, {other.shape} in ours")
        if self._check_dtype and about.dtype != other.dtype:
            return Verdict(False, "dtype", detail=f"{about.dtype} in the reference, {other.dtype} in ours")
        return judge_numbers(a, b, self.eps(r, o), others, inputs)

    def eps(self, r: int, o: int) -> float:
        """A unit in the last place of 1, in the coarser dtype of two values."""
        return max(_EPS.get(self._reference.values[r].dtype, 0.0), _EPS.get(self._ours.values[o].dtype, 0.0))

    def size(self, r: int) -> float:
        """The largest magnitude of a value of the reference."""
        a = self._reference.array(r)
        return 0.0 if a is None or a.size == 0 or a.dtype.kind not in "fciu" else _largest(np.abs(_wide(a)))


def judge_numbers(
    a: np.ndarray, b: np.ndarray, eps: float, others: Sequence[np.ndarray | None], inputs: float
) -> Verdict:
    """Compare b with a, the reference, whose perturbed runs got `others`; for `inputs` see Judge.verdict."""
    if a.dtype.kind not in "fc" and b.dtype.kind not in "fc":
        return _whole_numbers(a, b, others)
    if a.dtype == b.dtype and np.array_equal(a, b):
        return Verdict(True)
    odd = ~np.isfinite(a) | ~np.isfinite(b)
    if odd.any():
        with np.errstate(invalid="ignore"):
            same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not same[odd].all():
            at = int(np.flatnonzero(odd & ~same)[0])
            return Verdict(False, "nan", float("inf"), detail=f"{a[at]} in the reference, {b[at]} in ours")
    distance, size = _largest(_apart(a, b)), _largest(np.abs(_wide(a)))
    spread = spread_of(a, others) or 0.0
    allowed = float(_SPREADS * spread + _UNITS * eps * size + _LOST_IN_SUMS * eps * inputs)
    return Verdict(distance <= allowed, "values", distance, allowed, size)


def _whole_numbers(a: np.ndarray, b: np.ndarray, others: Sequence[np.ndarray | None]) -> Verdict:
    """Integers and truth values: as many may differ as flip in the reference's own runs, fourfold."""
    unequal = int(np.count_nonzero(a != b))
    flips = max(
        (int(np.count_nonzero(a != o)) for o in others if o is not None and o.shape == a.shape), default=0
    )
    detail = f"{unequal} of {a.size} elements" if unequal else ""
    return Verdict(unequal <= 4 * flips, "values", float(unequal), 4.0 * flips, float(a.size), detail)
