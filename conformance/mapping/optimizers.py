"""Optimizers and schedulers of both sides over some steps with the same gradients."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.testing._internal.common_optimizers import optim_db

from ..compare import NEAR, Comparer, Record
from ..face import locate
from .names import details

STEPS = 7
# Schedulers: the constructor's arguments beside the optimizer, case by case.
SCHEDULES: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "ConstantLR": [((), {}), ((), {"factor": 0.5, "total_iters": 3})],
    "CosineAnnealingLR": [((4,), {}), ((3,), {"eta_min": 0.01})],
    "CosineAnnealingWarmRestarts": [((3,), {}), ((2, 2), {"eta_min": 0.01})],
    "CyclicLR": [((0.01, 0.1), {"step_size_up": 2, "mode": "exp_range", "gamma": 0.9})],
    "ExponentialLR": [((0.9,), {})],
    "LambdaLR": [((lambda epoch: 0.5**epoch,), {})],
    "LinearLR": [((), {}), ((), {"start_factor": 0.5, "end_factor": 0.9, "total_iters": 3})],
    "MultiStepLR": [(([2, 4],), {}), (([1, 1, 3], 0.5), {})],
    "MultiplicativeLR": [((lambda epoch: 0.9,), {})],
    "PolynomialLR": [((), {}), ((), {"total_iters": 4, "power": 2.0})],
    "StepLR": [((2,), {}), ((3, 0.5), {})],
}


@functools.cache
def _table() -> dict[str, Any]:
    return {f"torch.{locate(o.optim_cls) or 'optim.' + o.name}": o for o in optim_db}


def case(path: str) -> Any:
    """The arguments to try a name with, or None."""
    if path.startswith("torch.optim.lr_scheduler."):
        return SCHEDULES.get(path.rpartition(".")[2])
    return _table().get(path)


def run(path: str, target: str, face: Any, outcomes: dict[str, Any], rec: Record) -> None:
    """The table's settings of an optimizer, or one schedule."""
    from .run import verdict_of

    outcome: dict[str, Any] = outcomes.setdefault("float32", {})
    for label, args, kwargs in _settings(path):
        try:
            want = _steps(path, args, kwargs)
        except Exception:
            continue
        try:
            got = _their_steps(path, target, args, kwargs, face)
            kind, text = _compared(Comparer(face), want, got)
        except Exception as err:
            kind, text = verdict_of(err)
        outcome[kind] = outcome.get(kind, 0) + 1
        if text:
            outcome.setdefault(f"{kind}:", [f"{path.rpartition('.')[2]}({label})", text])
        rec.partial()


def _settings(path: str) -> list[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """(as text, the arguments beside parameters or optimizer, keyword arguments)."""
    if path.startswith("torch.optim.lr_scheduler."):
        return [(_label(args, kwargs), args, kwargs) for args, kwargs in case(path)]
    place = ("foreach", "fused", "capturable", "differentiable", "maximize")
    cases = [c.kwargs for c in case(path).optim_inputs_func(device="cpu")]
    kept = [{k: v for k, v in kwargs.items() if k not in place} for kwargs in cases]
    unique = {repr(sorted(kwargs.items())): kwargs for kwargs in kept if not _has_tensors(kwargs)}
    return [(_label((), kwargs), (), kwargs) for kwargs in unique.values()]


def _label(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    given = [getattr(a, "__name__", repr(a)) for a in args]
    return ", ".join([*given, *(f"{k}={v}" for k, v in kwargs.items())])


def _has_tensors(kwargs: dict[str, Any]) -> bool:
    return any(isinstance(v, torch.Tensor) for v in kwargs.values())


def _compared(compare: Comparer, want: Any, got: Any) -> tuple[str, str]:
    fault = compare.mismatch(want, got, where="after step")
    if fault is None:
        return "ok", ""
    return ("near" if compare.mismatch(want, got, factor=NEAR) is None else "values"), fault[:160]


def _problem() -> tuple[list[torch.Tensor], list[list[torch.Tensor]]]:
    """Parameters, and their gradients at each step: given, so that both sides take the same."""
    draw = functools.partial(torch.randn, generator=torch.Generator().manual_seed(7))
    return [draw(4, 3), draw(3)], [[draw(4, 3), draw(3)] for _ in range(STEPS)]


def _steps(path: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    start, gradients = _problem()
    params = [torch.nn.Parameter(p.clone()) for p in start]
    trail: list[Any] = []
    if path.startswith("torch.optim.lr_scheduler."):
        optimizer = torch.optim.SGD(params, lr=0.1)
        schedule = getattr(torch.optim.lr_scheduler, path.rpartition(".")[2])(optimizer, *args, **kwargs)
        for _ in gradients:
            optimizer.step()
            schedule.step()
            trail.append(float(optimizer.param_groups[0]["lr"]))
        return trail
    optimizer = case(path).optim_cls(params, **kwargs)
    for grads in gradients:
        for p, g in zip(params, grads):
            p.grad = g.clone()
        optimizer.step()
        trail.append([p.detach().clone() for p in params])
    return trail


def _their_steps(
    path: str, target: str, args: tuple[Any, ...], kwargs: dict[str, Any], face: Any
) -> list[Any]:
    import mindspore

    theirs = face.resolve(target)
    start, gradients = _problem()
    params = [mindspore.Parameter(face.tensor(p), name=f"p{i}") for i, p in enumerate(start)]
    trail: list[Any] = []
    if path.startswith("torch.optim.lr_scheduler."):
        from mindspore.experimental import optim

        optimizer = optim.SGD(params, lr=0.1)
        schedule = theirs(optimizer, *args, **kwargs)
        for grads in gradients:
            optimizer(tuple(face.tensor(g) for g in grads))
            schedule.step()
            trail.append(float(optimizer.param_groups[0]["lr"]))
        return trail
    names = details(path, target).get("names", {})
    optimizer = theirs(params, **{names.get(k, k): v for k, v in kwargs.items()})
    for grads in gradients:
        optimizer(tuple(face.tensor(g) for g in grads))
        trail.append([face.tensor(face.fetch(p)) for p in params])
    return trail
