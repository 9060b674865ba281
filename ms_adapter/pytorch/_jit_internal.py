"""torch._jit_internal: what libraries take from there."""

from typing import Final  # noqa: F401 - an annotation

from .jit import (  # noqa: F401 - what others import from here
    _overload,
    _overload_method,
    export,
    ignore,
    is_scripting,
    unused,
)
from .jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3  # noqa: F401


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that is ``if_true`` or ``if_false``, as a boolean argument says."""

    def dispatch(*args, **kwargs):
        chosen = kwargs.get(arg_name, args[arg_index] if len(args) > arg_index else default)
        return (if_true if chosen else if_false)(*args, **kwargs)

    dispatch.__name__, dispatch.__module__ = func_name or dispatch.__name__, module_name or __name__
    return dispatch
