"""Sizes given as one number or as one for each dimension."""

from collections.abc import Iterable


def _ntuple(n):
    def parse(value):
        return tuple(value) if isinstance(value, Iterable) else (value,) * n

    return parse


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)


def _reverse_repeat_tuple(values, n):
    """Each value ``n`` times, last value first: the order that ``F.pad`` takes paddings in."""
    return tuple(value for value in reversed(values) for _ in range(n))
