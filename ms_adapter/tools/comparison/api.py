"""`compare(a, b)`: from two tensors, files or folders to a report."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ms_adapter import _C  # type: ignore[attr-defined]
from ms_adapter.tools.formats import Entry, read_path
from ms_adapter.tools.formats.entry import BadFile, from_array, from_tensor
from ms_adapter.tools.formats.torch_files import is_tensor, leaves_of

from . import report as kinds
from .naming import Pair, Rule, match, parse_rule
from .report import Report, Row, fill

# (relative, absolute) for each dtype, as torch.testing.assert_close has them.
_DEFAULTS = {
    "float64": (1e-7, 1e-7),
    "complex128": (1e-7, 1e-7),
    "float32": (1.3e-6, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "float16": (1e-3, 1e-5),
    "complex32": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
}


def compare(
    a: Any,
    b: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    rename: Iterable[str] = (),
    by_shape: bool = True,
    progress: Callable[..., None] | None = None,
) -> Report:
    """Compare B with A, the reference: tensors, arrays, dictionaries or lists of them, or paths.

    Args:
        a: a tensor (ours or PyTorch's), a NumPy array, a dictionary or list of them, a path of a file
            (npy, npz, pt, pth, bin, safetensors, ckpt) or of a folder.
        b: the same.
        rtol: near is ``|b - a| <= atol + rtol * |a|``; by default what fits the coarser dtype.
        atol: see ``rtol``.
        equal_nan: whether NaN is near NaN.
        rename: rules ``pattern=>replacement`` for the names of A, before they are matched.
        by_shape: whether tensors without a partner of their name are matched by shape.
        progress: called with the bytes of each pair and its name.

    Returns a :class:`Report`: ``same``, ``rows`` (worst first), ``summary()``, ``to_dict()``. What cannot be
    read is a row of its own; the rest is compared.

    Raises:
        BadFile: a path is not there or is no file of tensors.
        ValueError: a rule makes no sense.

    >>> import numpy as np
    >>> from ms_adapter.tools import compare
    >>> report = compare({"w": np.ones(3)}, {"w": np.array([1.0, 1.0, 1.5])})
    >>> report.same, report.worst.worst_index, report.worst.max_abs
    (False, (2,), 0.5)
    """
    pairs = match(_entries(a), _entries(b), [parse_rule(text) for text in rename], by_shape)
    return compare_pairs(pairs, rtol, atol, equal_nan, progress)


def compare_pairs(
    pairs: Sequence[Pair],
    rtol: float | None,
    atol: float | None,
    equal_nan: bool,
    progress: Callable[..., None] | None,
) -> Report:
    """The report on tensors that are matched already."""
    rows = []
    for pair in pairs:
        rows.append(_compare_pair(pair, rtol, atol, equal_nan))
        if progress:
            progress((pair.a or pair.b or Entry("")).bytes, rows[-1].name)
    return Report(sorted(rows, key=Row.badness))


def _entries(side: Any) -> list[Entry]:
    if isinstance(side, (str, os.PathLike)):
        return read_path(side)
    return [_from_value(name, value) for name, value in _named_values(side)]


def _named_values(side: Any) -> Iterable[tuple[str, Any]]:
    found = [
        (name, leaf) for name, leaf in leaves_of(side) if is_tensor(leaf) or isinstance(leaf, np.ndarray)
    ]
    if found:
        return found
    return side.items() if isinstance(side, dict) else [("", side)]  # of Python's numbers


def _from_value(name: str, value: Any) -> Entry:
    return from_tensor(name, value) if hasattr(value, "detach") else from_array(name, value)


def _tolerance(dtypes: tuple[str, str], rtol: float | None, atol: float | None) -> tuple[float, float]:
    """What was asked for, else what fits the coarser of the two."""
    coarsest = max((_DEFAULTS.get(dtype, (0.0, 0.0)) for dtype in dtypes), key=lambda pair: pair[0])
    return coarsest[0] if rtol is None else rtol, coarsest[1] if atol is None else atol


def _compare_pair(pair: Pair, rtol: float | None, atol: float | None, equal_nan: bool) -> Row:
    a, b = pair.a, pair.b
    if a is None or b is None:
        return _alone(a, b)
    row = Row(a.name, kinds.ERROR, b.name, pair.how, a.shape, b.shape, a.dtype, b.dtype)
    problems = [f"{side}: {entry.error}" for side, entry in (("A", a), ("B", b)) if entry.error]
    if problems:
        row.error = "; ".join(problems)
    elif a.shape != b.shape:
        row.status, row.error = kinds.SHAPE, f"shape {_dims(a.shape)} in A, {_dims(b.shape)} in B"
    elif ("complex" in a.dtype) != ("complex" in b.dtype):
        row.error = f"{a.dtype} in A, {b.dtype} in B: only one side is complex"
    else:
        try:
            found = _figures(a, b, _tolerance((a.dtype, b.dtype), rtol, atol), equal_nan)
        except (OSError, ValueError) as error:
            row.error = str(error)
        else:
            fill(row, found, "complex" in a.dtype)
    return row


def _alone(a: Entry | None, b: Entry | None) -> Row:
    entry = a or b
    assert entry is not None
    row = Row(entry.name, kinds.ONLY_A if a else kinds.ONLY_B)
    if a:
        row.shape_a, row.dtype_a = a.shape, a.dtype
    else:
        row.name_b, row.shape_b, row.dtype_b = entry.name, entry.shape, entry.dtype
    if entry.error:
        row.status, row.error = kinds.ERROR, f"{'A' if a else 'B'}: {entry.error}"
    return row


def _dims(shape: tuple[int, ...]) -> str:
    return "(" + ", ".join(map(str, shape)) + ")"


def _figures(a: Entry, b: Entry, tolerance: tuple[float, float], equal_nan: bool) -> dict[str, Any]:
    files: dict[str, int] = {}
    try:
        sides = [_side(entry, files) for entry in (a, b)]
        return _C.compare_elements(*sides, a.count, *tolerance, equal_nan)
    finally:
        for file in files.values():
            os.close(file)


def _side(entry: Entry, files: dict[str, int]) -> tuple[str, Any, list[tuple[int, int, int]]]:
    if entry.memory is not None:
        return entry.dtype, entry.memory, []
    for path, _, _ in entry.pieces:
        if path not in files:
            files[path] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    return entry.dtype, None, [(files[path], offset, size) for path, offset, size in entry.pieces]


__all__ = ["BadFile", "Rule", "compare", "compare_pairs"]
