"""What the transforms share: choosing arguments, checking trees of tensors, entering a level of gradients."""

import threading

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ..utils import _pytree as pytree

_native = _C.transforms


class _Depth(threading.local):
    running = 0


_depth = _Depth()


def transformed(func, *args, **kwargs):
    """Calls a function as a transform does: until it returns, code may ask whether one is active."""
    _depth.running += 1
    try:
        return func(*args, **kwargs)
    finally:
        _depth.running -= 1


def _are_functorch_transforms_active():
    """Whether this thread runs a function inside ``grad``, ``vmap``, ``jvp`` or another transform."""
    return _depth.running > 0


_C._are_functorch_transforms_active = _are_functorch_transforms_active


def tensors_in(tree, who, what):
    """The leaves and the spec of a tree that holds tensors only; raises RuntimeError for others."""
    flat, spec = pytree.tree_flatten(tree)
    if not flat:
        raise RuntimeError(f"{who}: Expected {what} to contain at least one Tensor, got an empty tree.")
    for leaf in flat:
        if not isinstance(leaf, torch.Tensor):
            raise RuntimeError(
                f"{who}: Expected {what} to only contain Tensors, got {type(leaf).__name__}: pass values "
                "that are no tensors through a closure."
            )
    return flat, spec


def chosen_arguments(args, argnums):
    """The arguments that a transform differentiates by: one of them, or a tuple."""
    numbers = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(numbers, tuple) or not numbers:
        raise RuntimeError(f"argnum should be int or Tuple[int, ...], and not empty; got: {argnums}")
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise RuntimeError(f"Got argnum={number}, but only {len(args)} positional inputs")
    if len({number % len(args) for number in numbers}) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got: {argnums}")
    return args[argnums] if isinstance(argnums, int) else tuple(args[number] for number in numbers)


def with_arguments(args, argnums, new):
    """``args`` with the chosen ones replaced."""
    args = list(args)
    pairs = [(argnums, new)] if isinstance(argnums, int) else zip(argnums, new, strict=True)
    for number, value in pairs:
        args[number] = value
    return tuple(args)


def split_aux(output, who):
    """``(value, aux)`` of a function that returns both."""
    if not isinstance(output, tuple) or len(output) != 2:
        raise RuntimeError(
            f"{who}: output of function f should be a tuple: (output, aux) if has_aux is True, got "
            f"{type(output)}"
        )
    return output


class Gradients:
    """One level of reverse-mode: inputs made anew, gradients by them, and what is left of graphs.

    The level needs no marks on tensors: its inputs are new nodes, and a gradient is taken up to them. It
    records its own backward only where that can matter: where an input or a captured tensor has a history.
    """

    def __init__(self, tree, who, what="inputs"):
        self.inputs, self._spec = tensors_in(tree, who, what)
        for t in self.inputs:
            if not (t.is_floating_point() or t.is_complex()):
                raise RuntimeError(
                    f"{who}: only Tensors of floating point dtype can require gradients, not {t.dtype}"
                )
        self.outer = torch.is_grad_enabled()
        self._tracked = any(map(_native.tracks, self.inputs))
        with torch.enable_grad():
            self.inputs = [_native.fresh(t) for t in self.inputs]
        self.tree = pytree.tree_unflatten(self.inputs, self._spec)
        self.connected = False

    def looked_at(self, outputs):
        """Notes what the outputs depend on besides the inputs."""
        depends = self._tracked or _native.hangs_on_others(tuple(outputs), tuple(self.inputs))
        self.connected = self.outer and depends

    def settled(self, tree):
        """A tree as it is outside the level: without the history that ends here."""
        if self.connected:
            return tree
        return pytree.tree_map_only(torch.Tensor, _native.settle, tree)

    def of(self, outputs, weights, keep):
        """The gradients of the weighted outputs, as a tree like the inputs."""
        pairs = [(o, w) for o, w in zip(outputs, weights, strict=True) if o.requires_grad]
        record = torch.is_grad_enabled() and (
            self.connected or any(w is not None and _native.tracks(w) for _, w in pairs)
        )
        if not pairs:
            grads = [None] * len(self.inputs)
        else:
            outs, given = zip(*pairs, strict=True)
            grads = torch.autograd.grad(
                outs, self.inputs, given, retain_graph=keep or record, create_graph=record, allow_unused=True
            )
        filled = [
            torch.zeros_like(_native.settle(x)) if g is None else g
            for g, x in zip(grads, self.inputs, strict=True)
        ]
        return pytree.tree_unflatten(filled, self._spec)
