"""torch._dynamo: PyTorch's compiler of Python; here its names, and everything runs as Python."""

from ..compiler import allow_in_graph, assume_constant_result, disable, is_compiling, list_backends, reset
from . import config, eval_frame, exc, external_utils, utils
from .eval_frame import OptimizedModule

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "assume_constant_result",
    "disable",
    "disallow_in_graph",
    "explain",
    "export",
    "forbid_in_graph",
    "graph_break",
    "is_compiling",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_static_address",
    "maybe_mark_dynamic",
    "optimize",
    "reset",
    "run",
]


def disallow_in_graph(fn):
    """``fn`` itself: there are no graphs."""
    return fn


forbid_in_graph = run = skip = nonstrict_trace = disallow_in_graph


def graph_break(msg=""):
    """Nothing: there are no graphs."""


def mark_dynamic(t, index, **kwargs):
    """Nothing: every size may be another one each time."""


maybe_mark_dynamic = mark_unbacked = mark_dynamic


def mark_static(t, index=None):
    """Nothing: no size is fixed."""


def mark_static_address(t, guard=True):
    """Nothing: nothing depends on where a tensor is."""


def optimize(*args, **kwargs):
    """A decorator as ``torch.compile``."""
    import ms_adapter.pytorch as torch

    return torch.compile


def explain(f, *args, **kwargs):
    """Raises NotImplementedError: there are no graphs to explain."""
    raise NotImplementedError(
        "torch._dynamo.explain: ms_adapter runs code as Python and makes no graphs of it."
    )


def export(f, *args, **kwargs):
    """Raises NotImplementedError, see ``torch.export.export``."""
    import ms_adapter.pytorch as torch

    return torch.export.export(f, args)


def reset_code_caches():
    """Nothing to reset."""
