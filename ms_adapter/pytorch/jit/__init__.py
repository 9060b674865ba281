"""torch.jit: scripts and traces are the functions and modules themselves, run eagerly."""

import warnings
from typing import Final  # noqa: F401 - torch.jit.Final is an annotation

_said = False


def _say(name):
    global _said
    if not _said:
        _said = True
        warnings.warn(f"torch.jit.{name}: ms_adapter runs it eagerly; results are the same.", stacklevel=3)


def script(obj, *args, **kwargs):
    """``obj`` itself: there is no compiler, which is said once."""
    _say("script")
    return obj


def trace(func, *args, **kwargs):
    """``func`` itself: there is no tracing, which is said once."""
    _say("trace")
    return func


def _same(function=None, **options):
    """The function itself; also a decorator with options."""
    return (lambda inner: inner) if function is None else function


ignore = unused = export = script_if_tracing = _same


def is_scripting():
    """False: nothing is ever compiled."""
    return False


def is_tracing():
    """False: nothing is ever traced."""
    return False


def annotate(the_type, the_value):
    """``the_value``: types say nothing to eager code."""
    return the_value


def _refuse(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.jit.{name}: TorchScript files are not supported; save a state_dict with torch.save."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises: TorchScript files are not supported."
    return refuse


save, load = _refuse("save"), _refuse("load")


class ScriptModule:
    """No module is one."""


class ScriptFunction:
    """No function is one."""
