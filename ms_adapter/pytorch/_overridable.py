"""Puts the test for __torch_function__ before public functions that are written in Python."""

import functools

from ms_adapter import _C


def overridable(space, names):
    """Replaces functions of a namespace by ones whose arguments may take them over."""
    for name in names:
        space[name] = functools.update_wrapper(_C.overridable(space[name]), space[name])
