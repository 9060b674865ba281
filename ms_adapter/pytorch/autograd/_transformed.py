"""Custom functions under transforms: what vmap and forward-mode AD make of an autograd.Function."""

import contextlib
from typing import NamedTuple

from ms_adapter import _C

from ..utils import _pytree as pytree

_native = _C.transforms
Tensor = _C.Tensor
_RANDOMNESS = ("error", "different", "same")


class VmapInfo(NamedTuple):
    """What the ``vmap`` staticmethod of a Function is told of the vmap around it."""

    batch_size: int
    randomness: str


def vmap_level(args):
    """The innermost vmap that an argument belongs to; 0: none."""
    return max((_native.vmap_level(arg) for arg in args if isinstance(arg, Tensor)), default=0)


def run_mapped(cls, args, level, own_rule):
    """The outputs of ``cls`` for batched arguments: by its rule, or example by example.

    ``None`` where its ``forward`` may simply run on the batched tensors: nothing below the vmap asks for a
    gradient, which would have to know the Function's own backward.
    """
    if own_rule:
        if cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an "
                "overridden vmap staticmethod. Please set generate_vmap_rule=False or delete the overridden "
                "vmap staticmethod to avoid ambiguity."
            )
        return _by_rule(cls, args, level)
    if not cls.generate_vmap_rule:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and "
            "implement the vmap staticmethod or set generate_vmap_rule=True."
        )
    values = [_native.unbatch(arg, level)[0] for arg in args if isinstance(arg, Tensor)]
    return _one_by_one(cls, args, level) if any(map(_native.tracks, values)) else None


def _taken_apart(args, level):
    pairs = [_native.unbatch(arg, level) if isinstance(arg, Tensor) else (arg, None) for arg in args]
    return [value for value, _ in pairs], tuple(dim for _, dim in pairs)


def _by_rule(cls, args, level):
    values, dims = _taken_apart(args, level)
    info = VmapInfo(_native.vmap_size(level), _RANDOMNESS[_native.vmap_randomness(level)])
    with _outside(level):
        answer = cls.vmap(info, dims, *values)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise RuntimeError(
            f"Expected the vmap staticmethod of {cls.__name__} to have two returns, outputs and out_dims, "
            f"got {type(answer)}"
        )
    outputs, out_dims = answer
    flat, spec = pytree.tree_flatten(outputs)
    flat_dims = pytree._broadcast_to_and_flatten(out_dims, spec)
    if flat_dims is None:
        flat_dims = list(out_dims)
    made = [
        out if dim is None or not isinstance(out, Tensor) else _native.batch(out, dim, level)
        for out, dim in zip(flat, flat_dims, strict=True)
    ]
    return pytree.tree_unflatten(made, spec)


def _one_by_one(cls, args, level):
    import ms_adapter.pytorch as torch

    values, dims = _taken_apart(args, level)
    with _outside(level):
        each = [
            cls.apply(*(v if d is None else v.select(d, i) for v, d in zip(values, dims, strict=True)))
            for i in range(_native.vmap_size(level))
        ]
    single = not isinstance(each[0], tuple)
    columns = zip(*((one,) if single else one for one in each), strict=True)
    outputs = tuple(_native.batch(torch.stack(column), 0, level) for column in columns)
    return outputs[0] if single else outputs


class _outside:  # noqa: N801 - used as a context manager
    """Calls inside are not those of the vmap at a level."""

    def __init__(self, level):
        self._level = level

    def __enter__(self):
        self._kept = _native.step_outside(self._level)

    def __exit__(self, *exc_info):
        _native.step_back(self._kept)


@contextlib.contextmanager
def without_tangents():
    """Operators inside make no tangents."""
    before = _native.is_tangents_enabled()
    _native.set_tangents_enabled(False)
    try:
        yield
    finally:
        _native.set_tangents_enabled(before)


def tangents_of(args):
    """``(level, tangents)``: of the one level at which arguments have tangents; level ``None``: none has."""
    if not _native.is_tangents_enabled():
        return None, ()
    found = []
    for level in range(_native.dual_depth()):
        given = tuple(_native.tangent(arg, level) if isinstance(arg, Tensor) else None for arg in args)
        if any(one is not None for one in given):
            found.append((level, given))
    if len(found) > 1:
        raise NotImplementedError(
            "forward AD: an autograd.Function has inputs with tangents at several levels (jvp of jvp), "
            "which its jvp staticmethod cannot serve: write it as plain operators"
        )
    return found[0] if found else (None, ())


def push_forward(cls, ctx, args, tangents, level, outputs):
    """Gives the outputs their tangents, from the Function's ``jvp``."""
    import ms_adapter.pytorch as torch

    if ctx.materialize_grads:
        tangents = tuple(
            torch.zeros_like(arg.detach()) if t is None and isinstance(arg, Tensor) else t
            for arg, t in zip(args, tangents, strict=True)
        )
    with without_tangents():
        moved = cls.jvp(ctx, *tangents)
    moved = moved if isinstance(moved, tuple) else (moved,)
    if len(moved) != len(outputs):
        raise RuntimeError(f"{cls.__name__}.jvp returned {len(moved)} tangents for {len(outputs)} outputs")
    for out, tangent in zip(outputs, moved, strict=True):
        if isinstance(out, Tensor) and tangent is not None:
            _native.set_tangent(out, tangent, level)
