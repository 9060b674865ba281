"""The backward graph: its nodes and edges, and hooks on what it saves and on gradients."""

import contextlib
import functools
from collections import namedtuple

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ..utils.hooks import RemovableHandle

_native = _C.autograd

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

Node = _native.Node


class NodeHandle(RemovableHandle):
    """Removes a hook of a node or a tensor; the core keeps those hooks under numbers of its own."""

    def __init__(self, remove):
        self._remove = remove
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1

    def remove(self):
        """Take the hook away; doing it twice is harmless."""
        if self._remove is not None:
            self._remove()
            self._remove = None


class GradientEdge(namedtuple("GradientEdge", ["node", "output_nr", "ownership_token"])):
    """Where a tensor's gradient flows: an input of a node. It may stand for the tensor in
    ``autograd.grad``.
    """

    __slots__ = ()

    def __new__(cls, node, output_nr, ownership_token=None):
        return super().__new__(cls, node, output_nr, ownership_token)


def get_gradient_edge(tensor):
    """The edge into the graph that ``tensor``'s gradient flows along."""
    if not tensor.requires_grad:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    node = _native.gradient_edge_node(tensor)
    return GradientEdge(node, tensor.output_nr, node)


def increment_version(tensor):
    """Say that the data of ``tensor`` (or of each tensor in an iterable) was changed behind the core's
    back.
    """
    for t in (tensor,) if isinstance(tensor, torch.Tensor) else tensor:
        _native.increment_version(t)


class saved_tensors_hooks:
    """Inside, ``pack_hook(tensor)`` is kept for each tensor saved for backward, and ``unpack_hook`` gives it
    back.

    >>> import ms_adapter.pytorch as torch
    >>> x = torch.tensor([2.0], requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.tolist(), torch.tensor):
    ...     y = x * x
    >>> y.backward(); x.grad
    tensor([4.])
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self):
        _native.push_saved_hooks(self.pack_hook, self.unpack_hook)

    def __exit__(self, *exc_info):
        _native.pop_saved_hooks()


class save_on_cpu(saved_tensors_hooks):
    """Inside, tensors saved for backward are kept in the CPU's memory."""

    def __init__(self, pin_memory=False, device_type="cuda"):
        def pack(tensor):
            return tensor.device, tensor.cpu()

        def unpack(packed):
            device, tensor = packed
            return tensor.to(device)

        super().__init__(pack, unpack)


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message):
    """Inside, using saved-tensor hooks raises a RuntimeError with ``error_message``."""
    before = _native.saved_hooks_disabled()
    _native.disable_saved_hooks(error_message)
    try:
        yield
    finally:
        if before is None:
            _native.enable_saved_hooks()
        else:
            _native.disable_saved_hooks(before)


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Call ``fn`` in each backward with the gradients of ``tensors``.

    mode "all": once all of them that will have one are there, with a list (``None`` for the others);
    "any": with the first that is there.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    tensors = tuple(tensors)
    state = {"grads": [None] * len(tensors), "left": 0, "running": False}

    def finish():
        state.update(grads=[None] * len(tensors), left=0, running=False)

    def on_grad(place, grad):
        if not state["running"]:
            state["running"] = True
            state["left"] = sum(map(_native.will_run, tensors)) if mode == "all" else 1
            _native.queue_callback(finish)
        if state["left"] <= 0:
            return
        state["grads"][place] = grad
        state["left"] -= 1
        if state["left"] == 0:
            fn(state["grads"] if mode == "all" else grad)

    handles = [t.register_hook(functools.partial(on_grad, i)) for i, t in enumerate(tensors)]

    def remove():
        for handle in handles:
            handle.remove()

    return NodeHandle(remove)
