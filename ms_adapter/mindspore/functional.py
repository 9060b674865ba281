"""MindSpore's functional gradients for functions of our tensors: value_and_grad and grad."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from .graph.mode import in_graph_mode

Position = int | tuple[int, ...] | None


def _torch() -> Any:
    from ms_adapter import pytorch

    return pytorch


def _leaves(args: tuple[Any, ...], positions: tuple[int, ...]) -> tuple[Any, ...]:
    """The arguments, those at `positions` as tensors of their own that want a gradient."""
    torch = _torch()
    for i in positions:
        if not (-len(args) <= i < len(args)) or not isinstance(args[i], torch.Tensor):
            raise TypeError(
                f"value_and_grad: grad_position {i} is not a Tensor among the {len(args)} arguments; "
                "give the place of a tensor, or None with weights."
            )
    wanted = {i % len(args) for i in positions} if args else set()
    return tuple(_leaf(a) if i in wanted else a for i, a in enumerate(args))


class _Depth(threading.local):
    """How many functions are being differentiated, one within the other."""

    calls = 0


_depth = _Depth()


def _leaf(a: Any) -> Any:
    """A tensor to differentiate by; within another call it keeps its history, for the derivative of the
    derivative."""
    if _depth.calls and a.requires_grad:
        return a.view_as(a)
    return a.detach().requires_grad_()


def _run(fn: Callable[..., Any], args: tuple[Any, ...], position: Position, weights: Any, kwargs: Any) -> Any:
    """(what fn gave, gradients of the inputs or None, gradients of the weights or None)"""
    torch = _torch()
    if position is None and weights is None:
        raise ValueError("value_and_grad: grad_position and weights cannot both be None; give one of them.")
    positions = () if position is None else (position,) if isinstance(position, int) else tuple(position)
    given = _leaves(args, positions)
    params = [] if weights is None else [weights] if isinstance(weights, torch.Tensor) else list(weights)
    nested = _depth.calls > 0
    with torch.enable_grad():
        _depth.calls += 1
        try:
            result = fn(*given, **kwargs)
        finally:
            _depth.calls -= 1
        loss = result[0] if isinstance(result, (tuple, list)) else result
        wanted = [given[i] for i in positions] + params
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        roots = [loss] if _has_aux(fn) else [o for o in outputs if o.requires_grad]
        found = (
            torch.autograd.grad(
                roots,
                wanted,
                [torch.ones_like(r) for r in roots],
                create_graph=nested,
                allow_unused=True,
            )
            if roots
            else [None] * len(wanted)
        )
    grads = tuple(torch.zeros_like(w) if g is None else g for g, w in zip(found, wanted))
    of_inputs, of_weights = grads[: len(positions)], grads[len(positions) :]
    inputs = None if position is None else of_inputs[0] if isinstance(position, int) else of_inputs
    if isinstance(weights, torch.Tensor):
        return result, inputs, of_weights[0]
    return result, inputs, None if weights is None else of_weights


def _has_aux(fn: Callable[..., Any]) -> bool:
    return getattr(fn, "_msa_has_aux", False)


class _WithAux:
    """A function whose first result alone is differentiated."""

    _msa_has_aux = True

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)


def _joined(inputs: Any, weights: Any) -> Any:
    if inputs is None:
        return weights
    return inputs if weights is None else (inputs, weights)


def _detached(value: Any) -> Any:
    """Results without history, which only an outer derivative asks for."""
    if _depth.calls:
        return value
    if isinstance(value, (tuple, list)):
        return tuple(map(_detached, value))
    return value.detach() if isinstance(value, _torch().Tensor) else value


def value_and_grad(
    fn: Callable[..., Any],
    grad_position: Position = 0,
    weights: Iterable[Any] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """A function that gives `(fn(*args), gradients)`.

    The gradients are of the arguments at `grad_position` (one place, several, or None), of `weights` (a list
    of parameters), or of both as a pair. Of several results all are differentiated; with `has_aux` the first
    alone.

    >>> import ms_adapter.pytorch as torch
    >>> value_and_grad(lambda x: x * x)(torch.tensor(3.0))
    (tensor(9.), tensor(6.))
    """
    _refuse(return_ids, sens_param)
    called = _WithAux(fn) if has_aux else fn

    def run(*args: Any, **kwargs: Any) -> Any:
        result, inputs, of_weights = _run(called, args, grad_position, weights, kwargs)
        return _detached(result), _joined(inputs, of_weights)

    return in_graph_mode(run)


def grad(
    fn: Callable[..., Any],
    grad_position: Position = 0,
    weights: Iterable[Any] | None = None,
    has_aux: bool = False,
    return_ids: bool = False,
    sens_param: bool = False,
) -> Callable[..., Any]:
    """As :func:`value_and_grad`, without the value; with `has_aux` a pair with fn's other results.

    >>> import ms_adapter.pytorch as torch
    >>> grad(lambda x, y: x * y, grad_position=(0, 1))(torch.tensor(3.0), torch.tensor(2.0))
    (tensor(2.), tensor(3.))
    """
    _refuse(return_ids, sens_param)
    called = _WithAux(fn) if has_aux else fn

    def run(*args: Any, **kwargs: Any) -> Any:
        result, inputs, of_weights = _run(called, args, grad_position, weights, kwargs)
        found = _joined(inputs, of_weights)
        return (found, _detached(result[1:])) if has_aux else found

    return in_graph_mode(run)


def clip_by_global_norm(x: Any, clip_norm: float = 1.0, use_norm: None = None) -> Any:
    """The tensors times `clip_norm / norm` where their common norm is greater than that.

    >>> import ms_adapter.pytorch as torch
    >>> clip_by_global_norm([torch.tensor([3.0, 4.0])], 1.0)
    (tensor([0.6000, 0.8000]),)
    """
    torch = _torch()
    if use_norm is not None:
        raise ValueError("clip_by_global_norm: use_norm must be None, as in MindSpore.")
    squares = torch.stack([t.detach().float().square().sum() for t in x])
    scale = clip_norm / squares.sum().sqrt().clamp(min=clip_norm)
    return tuple(t * scale.to(t.dtype) for t in x)


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """A tensor, or each of a list or tuple, within two bounds."""
    if isinstance(x, (list, tuple)):
        return type(x)(t.clamp(clip_value_min, clip_value_max) for t in x)
    return x.clamp(clip_value_min, clip_value_max)


def _refuse(return_ids: bool, sens_param: bool) -> None:
    if sens_param:
        raise NotImplementedError(
            "value_and_grad: sens_param=True is not supported for our tensors; multiply the result by it."
        )
    if return_ids:
        raise NotImplementedError(
            "value_and_grad: return_ids=True is not supported for our tensors; "
            "gradients come in the weights' order."
        )
