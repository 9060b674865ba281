"""torch.compiler: what code says to PyTorch's compiler; graphs are captured for backends of ours."""

import contextlib
import functools
import warnings

import ms_adapter.pytorch as torch

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

_said = False
_STANCES = ("default", "eager_on_recompile", "fail_on_recompile", "force_eager", "aot_eager_then_compile")


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend="inductor",
    mode=None,
    options=None,
    disable=False,
    **kwargs,
):
    """A function, or module, that does what ``model`` does.

    ``backend="mindspore"`` captures graphs that MindSpore compiles, ``"replay"`` the same graphs run operator
    by operator on our own engine (docs/capture.md); what cannot be captured runs as Python, and a
    RuntimeWarning says why. Every other backend means Python, which is said once; ``fullgraph``, ``dynamic``
    and ``options`` change nothing. A module is wrapped as PyTorch wraps it: its ``state_dict`` has the prefix
    ``_orig_mod.``. Without a model this is a decorator.

    >>> import ms_adapter.pytorch as torch
    >>> double = torch.compile(lambda x: x * 2, fullgraph=True)
    >>> double(torch.ones(1))
    tensor([2.])
    """
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return lambda inner: _compiled(inner, backend, disable)
    return _compiled(model, backend, disable)


def _backend(name):
    """What makes programs of graphs; None: Python runs the code."""
    if name == "replay":
        from ms_adapter.capture.compiled import replaying

        return replaying
    if name == "mindspore":
        from ms_adapter.mindspore._package import fitting
        from ms_adapter.mindspore.graph import compile_graph

        fitting()  # said here, and not by a later call
        return compile_graph
    return None


def _say_once():
    global _said
    if not _said:
        _said = True
        warnings.warn(
            "torch.compile: ms_adapter runs the code as Python; results are the same (said once).",
            stacklevel=4,
        )


def _compiled(model, backend, disable):
    made = None if disable else _backend(backend)
    if made is None:
        _say_once()
    if isinstance(model, torch.nn.Module):
        from ._dynamo.eval_frame import OptimizedModule

        return OptimizedModule(model, made and _captured(model, made))
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    return model if made is None else functools.wraps(model)(_captured(model, made))


def _captured(model, backend):
    from ms_adapter.capture.compiled import Compiled

    return Compiled(model, backend, "torch.compile")


def is_compiling():
    """False: nothing is ever compiled."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn=None, recursive=True, *, reason=None):
    """``fn`` itself; also a decorator with options."""
    return (lambda function: function) if fn is None else fn


def allow_in_graph(fn):
    """``fn`` itself: there are no graphs."""
    return fn


assume_constant_result = nested_compile_region = allow_in_graph


def substitute_in_graph(original_fn, **options):
    """A decorator that changes nothing: there are no graphs."""
    return lambda function: function


def reset():
    """Nothing to reset."""


def list_backends(exclude_tags=("debug", "experimental")):
    """The backends that compile."""
    return ["mindspore", "replay"]


def cudagraph_mark_step_begin():
    """Nothing: there are no graphs."""


class set_stance(contextlib.ContextDecorator):
    """Accepts PyTorch's stances, as a call, a decorator or in a with block."""

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in _STANCES:
            raise RuntimeError(f"invalid stance {stance!r}: one of {_STANCES}.")

    def __enter__(self):
        return self

    def __exit__(self, *exc_info):
        pass


def wrap_numpy(fn):
    """A function of tensors for ``fn``, one of NumPy arrays; arrays that it returns become tensors."""

    @functools.wraps(fn)
    def wrapped(*args, **kwargs):
        args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.numpy(), (args, kwargs))
        result = fn(*args, **kwargs)
        import numpy

        return torch.utils._pytree.tree_map_only(numpy.ndarray, torch.from_numpy, result)

    return wrapped
