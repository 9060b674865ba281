"""What a comparison found: a row for each pair of tensors, and the verdict over all."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field
from typing import Any

SAME, NEAR, DIFFERS, SHAPE, ONLY_A, ONLY_B, ERROR = (
    "same", "near", "differs", "shape", "only in A", "only in B", "error",
)  # fmt: skip
_BAD_FIRST = {ERROR: 0, SHAPE: 1, ONLY_A: 2, ONLY_B: 2, DIFFERS: 3, NEAR: 4, SAME: 5}


@dataclass
class Row:
    """One pair of tensors. Figures are None where they do not apply; errors are of B against A."""

    name: str
    status: str
    name_b: str = ""
    matched_by: str = ""
    shape_a: tuple[int, ...] | None = None
    shape_b: tuple[int, ...] | None = None
    dtype_a: str = ""
    dtype_b: str = ""
    max_abs: float | None = None
    mean_abs: float | None = None
    max_rel: float | None = None
    mean_rel: float | None = None
    cosine: float | None = None
    max_ulp: int | None = None
    mean_ulp: float | None = None
    worst_index: tuple[int, ...] | None = None
    worst_a: float | None = None
    worst_b: float | None = None
    near_share: float | None = None  # of elements within the tolerance
    nan_a: int = 0
    nan_b: int = 0
    inf_a: int = 0
    inf_b: int = 0
    error: str = ""

    def badness(self) -> tuple:
        """Sorts the worst first."""
        share = self.near_share if self.near_share is not None else 1.0
        nans = abs(self.nan_a - self.nan_b)
        return (_BAD_FIRST[self.status], -nans, share, -(self.max_rel or 0.0), -(self.max_abs or 0.0))


@dataclass
class Report:
    """All rows, worst first."""

    rows: list[Row] = field(default_factory=list)

    def count(self, *statuses: str) -> int:
        """How many rows have one of these statuses."""
        return sum(row.status in statuses for row in self.rows)

    @property
    def same(self) -> bool:
        """Whether every tensor has a partner, could be read, and is near it."""
        return self.count(SAME, NEAR) == len(self.rows)

    @property
    def worst(self) -> Row | None:
        """The row to look at first."""
        return self.rows[0] if self.rows else None

    def summary(self) -> str:
        """One line: how many of each kind."""
        found = [(self.count(status), status) for status in _BAD_FIRST]
        parts = ", ".join(f"{n} {status}" for n, status in found if n)
        return f"{len(self.rows)} tensors: {parts or 'nothing to compare'}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"same": self.same, "summary": self.summary(), "tensors": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        lines = [self.summary()]
        for row in self.rows:
            figures = "" if row.max_abs is None else f" max abs {row.max_abs:.3g}, max rel {row.max_rel:.3g}"
            lines.append(f"  {row.status:10} {row.name or '(tensor)'}{figures} {row.error}".rstrip())
        return "\n".join(lines)


def index_of(flat: int, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The place of a row-major index in a shape."""
    found = []
    for size in reversed(shape):
        found.append(flat % size)
        flat //= size
    return tuple(reversed(found))


def fill(row: Row, found: dict[str, Any], is_complex: bool) -> None:
    """Puts the core's figures into a row, and the status that follows from them."""
    parts = found["count"]
    compared = max(1, parts - max(found["nan_a"], found["nan_b"]))
    row.max_abs, row.mean_abs = found["max_abs"], found["sum_abs"] / compared
    row.max_rel, row.mean_rel = found["max_rel"], found["sum_rel"] / compared
    norms = math.sqrt(found["norm_a"]) * math.sqrt(found["norm_b"])
    both_zero = found["norm_a"] == found["norm_b"] == 0
    row.cosine = min(1.0, max(-1.0, found["dot"] / norms)) if norms else (1.0 if both_zero else 0.0)
    if found["has_ulp"]:
        row.max_ulp, row.mean_ulp = found["max_ulp"], found["sum_ulp"] / compared
    row.nan_a, row.nan_b, row.inf_a, row.inf_b = (found[k] for k in ("nan_a", "nan_b", "inf_a", "inf_b"))
    row.near_share = found["near"] / parts if parts else 1.0
    all_equal = found["equal"] == parts
    row.status = SAME if all_equal else NEAR if found["near"] == parts else DIFFERS
    if found["worst"] >= 0 and not all_equal:
        row.worst_index = index_of(found["worst"] // (2 if is_complex else 1), row.shape_a or ())
        row.worst_a, row.worst_b = found["worst_a"], found["worst_b"]
