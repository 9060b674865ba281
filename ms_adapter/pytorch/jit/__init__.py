"""torch.jit: scripts and traces are the functions and modules themselves, run as Python."""

import contextlib
import warnings
from typing import Final  # noqa: F401 - torch.jit.Final is an annotation

import ms_adapter.pytorch as torch
from ms_adapter import _C

_said = False


class Error(RuntimeError):
    """A fault of TorchScript; none is raised here."""


def _say(name):
    global _said
    if not _said:
        _said = True
        warnings.warn(
            f"`torch.jit.{name}` is deprecated: ms_adapter runs Python, with the same results (said once).",
            DeprecationWarning,  # as PyTorch's own, which code that takes warnings for errors lets pass
            stacklevel=3,
        )


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """``obj`` itself: there is no compiler, which is said once."""
    _say("script")
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """``func`` itself: there is no tracing, which is said once."""
    _say("trace")
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """``mod`` itself: there is no tracing, which is said once."""
    _say("trace_module")
    return mod


def _same(function=None, **options):
    """The function itself; also a decorator with options."""
    return (lambda inner: inner) if function is None or isinstance(function, bool) else function


def unused(fn):
    """``fn`` itself."""
    return fn


ignore = _same
export = interface = script_method = script_if_tracing = _script_if_tracing = unused
_overload = _overload_method = unused


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """``mod`` itself, which must be in evaluation mode."""
    if getattr(mod, "training", False):
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode; call .eval() first."
        )
    return mod


def optimize_for_inference(mod, other_methods=None):
    """``mod`` itself."""
    return mod


run_frozen_optimizations = optimize_for_inference


def is_scripting():
    """False: nothing is ever compiled."""
    return False


def is_tracing():
    """False: nothing is ever traced."""
    return False


def annotate(the_type, the_value):
    """``the_value``: types say nothing to Python."""
    return the_value


def Attribute(value, type):  # noqa: N802 - PyTorch's name
    """``value``: types say nothing to Python."""
    return value


def isinstance(obj, target_type):  # noqa: A001 - PyTorch's name
    """Whether ``obj`` is of a type, of one of several types, or of a generic one such as List[int]."""
    kinds = target_type if type(target_type) is tuple else (target_type,)
    return any(_matches(obj, kind) for kind in kinds)


def _matches(obj, kind):
    import builtins
    import types
    import typing

    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is None:
        return builtins.isinstance(obj, kind)
    if origin in (typing.Union, types.UnionType):
        return any(_matches(obj, inner) for inner in args)
    if not builtins.isinstance(obj, origin):
        return False
    if origin is dict:
        return all(_matches(k, args[0]) and _matches(v, args[1]) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(args) and all(map(_matches, obj, args))
    return all(_matches(item, args[0]) for item in obj)


def fork(func, *args, **kwargs):
    """Runs ``func`` at once; its result is what ``wait`` gives."""
    return _Done(func(*args, **kwargs))


def wait(future):
    """The result of ``fork``."""
    return future.wait()


class _Done:
    """A result that is there already."""

    def __init__(self, value):
        self._value = value

    def wait(self):
        """The result."""
        return self._value

    def value(self):
        """The result."""
        return self._value

    def done(self):
        """True."""
        return True


def _refuse(name):
    def refuse(*args, **kwargs):
        raise NotImplementedError(
            f"torch.jit.{name}: TorchScript files hold compiled programs, which ms_adapter cannot run. Make "
            "the model from its Python class and save or load its state_dict with torch.save and torch.load."
        )

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raises NotImplementedError: TorchScript files are not supported."
    return refuse


save, load, jit_module, export_opnames = map(_refuse, ("save", "load", "jit_module", "export_opnames"))


class ScriptModule(torch.nn.Module):
    """A module; its methods run as Python."""


class RecursiveScriptModule(ScriptModule):
    """No module is one."""


class TopLevelTracedModule(ScriptModule):
    """No module is one."""


TracedModule = TopLevelTracedModule


class ScriptFunction:
    """No function is one."""


class TracerWarning(Warning):
    """What tracing could not follow; never given here."""


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """Nothing to set."""
    yield


@contextlib.contextmanager
def fuser(name):
    """Nothing to set."""
    yield


class strict_fusion:
    """Nothing to check."""

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass


def set_fusion_strategy(strategy):
    """Accepted; returns the strategy that PyTorch begins with."""
    return [("STATIC", 2), ("DYNAMIC", 10)]


def enable_onednn_fusion(enabled):
    """Accepted: nothing is fused."""


def onednn_fusion_enabled():
    """False: nothing is fused."""
    return False


for _switch in [
    "_jit_set_profiling_executor",
    "_jit_set_profiling_mode",
    "_jit_override_can_fuse_on_gpu",
    "_jit_override_can_fuse_on_cpu",
    "_jit_set_texpr_fuser_enabled",
    "_jit_set_nvfuser_enabled",
    "_jit_set_bailout_depth",
]:
    setattr(_C, _switch, lambda value=None: False)
_C._get_tracing_state = lambda: None

from . import annotations, frontend  # noqa: E402 - their names are looked up here
