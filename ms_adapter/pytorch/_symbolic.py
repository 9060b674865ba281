"""Symbolic numbers of PyTorch's compiler: nothing is symbolic here, so these functions take plain numbers."""

import builtins
import math

__all__ = [
    "SymBool",
    "SymFloat",
    "SymInt",
    "sym_constrain_range",
    "sym_constrain_range_for_size",
    "sym_float",
    "sym_int",
    "sym_ite",
    "sym_max",
    "sym_min",
    "sym_not",
    "sym_sqrt",
    "sym_sum",
]


class _Symbol:
    def __init__(self, *args):
        raise NotImplementedError(
            f"{type(self).__name__}: shapes are never symbolic in ms_adapter; use the plain number."
        )


class SymInt(_Symbol):
    """An integer known at run time only: there is none here, and ``isinstance`` answers False."""


class SymFloat(_Symbol):
    """A float known at run time only: there is none here."""


class SymBool(_Symbol):
    """A truth value known at run time only: there is none here."""


def sym_int(a):
    """``a`` as an int, rounded towards zero.

    >>> sym_int(-2.7)
    -2
    """
    return math.trunc(a)


def sym_float(a):
    """``a`` as a float."""
    return builtins.float(a)


def sym_not(a):
    """Not ``a``."""
    return not a


def sym_max(a, b):
    """The larger of two numbers, a float where one of them is.

    >>> sym_max(3, 2.0)
    3.0
    """
    return _both(builtins.max(a, b), a, b)


def sym_min(a, b):
    """The smaller of two numbers, a float where one of them is."""
    return _both(builtins.min(a, b), a, b)


def _both(chosen, a, b):
    return (
        builtins.float(chosen) if isinstance(a, builtins.float) or isinstance(b, builtins.float) else chosen
    )


def sym_ite(b, t, f):
    """``t`` where ``b`` holds, else ``f``."""
    return t if b else f


def sym_sqrt(a):
    """The square root, as a float."""
    return math.sqrt(a)


def sym_sum(args):
    """The sum of a list of numbers."""
    return builtins.sum(args)


def sym_constrain_range(size, *, min=None, max=None):
    """Checks that a number lies between ``min`` and ``max``, both included; RuntimeError otherwise."""
    if (min is not None and size < min) or (max is not None and size > max):
        raise RuntimeError(f"sym_constrain_range: expected a value between {min} and {max}, got {size}.")


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """:func:`sym_constrain_range` for a size, which is not negative."""
    sym_constrain_range(size, min=0 if min is None else min, max=max)
