"""Second derivatives: the gradient of each operator's gradient, in double precision, against the oracle's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db

from .compare import Comparer, Record, describe, error_text, tensors
from .face import Face
from .ops import SEED, category, floor_of, full_name, invoke, pick, prepare


def listing(dtypes: list[str] | None) -> list[tuple[str, str]]:
    """Every operator whose gradient has a gradient, with its widest dtype or those asked for."""
    items = []
    for op in op_db:
        supported = [str(d)[6:] for d in op.supported_dtypes("cpu")]
        chosen = [d for d in dtypes or ("float64", "complex128") if d in supported]
        if op.supports_autograd and op.supports_gradgrad and not op.name.startswith("jiterator"):
            items += [(f"{full_name(op)}@{d}", category(op)) for d in (chosen if dtypes else chosen[:1])]
    return items


def noise(like: Any, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    dtype = torch.float64 if not like.dtype.is_complex else torch.complex128
    return torch.randn(like.shape, generator=generator, dtype=dtype).to(like.dtype)


def scalar(outputs: list[Any], weights: list[Any]) -> Any:
    """The real part of the outputs' weighted sum."""
    total = None
    for out, weight in zip(outputs, weights):
        term = (out * weight).sum()
        term = term.real if weight.is_complex() else term
        total = term if total is None else total + term
    return total


def second(
    face: Face, fn: Callable, sample: Any, process: Callable, plan: dict[str, Any] | None
) -> tuple[list[Any], dict[str, Any]]:
    """d/dx and d/dw of a weighted sum of the gradients of a sum weighted by w.

    The oracle (plan=None) chooses which outputs and gradients take part, and the weights.
    """
    result, _, leaves = invoke(face, fn, sample, grad=True)
    outs = list(tensors(process(result), face))
    if plan is None:
        chosen = [i for i, t in enumerate(outs) if t.requires_grad]
        plan = {"outs": chosen, "weights": [noise(outs[i], SEED).requires_grad_() for i in chosen]}
    outs = [outs[i] for i in plan["outs"]]
    if not all(t.requires_grad for t in outs):
        raise AssertionError("result does not require grad")
    grad = face.need("autograd").grad
    weights = face.put(plan["weights"], True, leaves)
    first = grad(scalar(outs, weights), leaves, create_graph=True, allow_unused=True)
    if "grads" not in plan:
        plan["grads"] = [i for i, g in enumerate(first) if g is not None and g.requires_grad]
        plan["cotangents"] = [noise(first[i], SEED + 1) for i in plan["grads"]]
    if not plan["grads"]:
        return [], plan
    missing = [i for i in plan["grads"] if first[i] is None or not first[i].requires_grad]
    if missing:
        raise AssertionError(f"the gradient of input {missing[0]} has no gradient")
    total = scalar([first[i] for i in plan["grads"]], face.put(plan["cotangents"]))
    return list(grad(total, leaves, allow_unused=True)), plan


def run(name: str, oracle: Face, face: Face, rec: Record, opts: Any) -> None:
    ready = prepare(name, oracle, face, rec)
    if ready is None:
        return
    op, dtype, reference, fn = ready
    compare = Comparer(face, floor_of(op, dtype), opts.tol_scale)
    for index, sample in enumerate(
        pick(op.sample_inputs("cpu", dtype, requires_grad=True), opts.max_samples)
    ):
        rec.at("second", index)
        process = sample.output_process_fn_grad
        try:
            want, plan = second(oracle, reference, sample, process, None)
        except Exception:
            want = []
        if not want or not any(w is not None for w in want):
            rec.add("second", "skip")
            continue
        info = describe([sample.input, list(sample.args), sample.kwargs])
        try:
            got, _ = second(face, fn, sample, face.adopt(process), plan)
            fault, near = compare.gradients((f"input {i}", w, g) for i, (w, g) in enumerate(zip(want, got)))
            rec.judge("second", fault, info if fault else None, near)
        except Exception as err:
            rec.add("second", "fail", error_text(err), info)
    rec.partial()
