"""Transforms of operators: vmap against a loop over the examples, forward-mode AD against the oracle."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

from .compare import Comparer, Record, describe, error_text, tensors
from .exact import as_good, doubled
from .face import Face
from .ops import GAUGE, SEED, UNDEFINED, category, floor_of, full_name, pick, prepare
from .second import noise

BATCH = 3


def operators(
    dtypes: list[str] | None, preferred: tuple[str, ...], wanted: Callable
) -> list[tuple[str, str]]:
    """(name@dtype, category) of the operators that `wanted` keeps, with the first preferred dtype of each."""
    items = []
    for op in op_db:
        supported = [str(d)[6:] for d in op.supported_dtypes("cpu")]
        chosen = [d for d in dtypes or preferred if d in supported]
        if wanted(op) and not op.name.startswith("jiterator"):
            items += [(f"{full_name(op)}@{d}", category(op)) for d in (chosen if dtypes else chosen[:1])]
    return items


class Call:
    """An operator's call as a function of the sample's tensors, for the oracle or the face."""

    def __init__(self, fn: Callable, sample: Any, process: Callable) -> None:
        self.fn, self.process = fn, process
        self.tree = [sample.input, sample.args, sample.kwargs]
        found = {id(t): t for t in pytree.tree_leaves(self.tree) if isinstance(t, torch.Tensor)}
        self.tensors = list(found.values())

    def on(self, face: Face) -> Callable:
        """`f(*tensors)` of this face: the other arguments are the sample's."""
        places = {id(t): i for i, t in enumerate(self.tensors)}

        def run(*given: Any) -> Any:
            def put(x: Any) -> Any:
                return given[places[id(x)]] if isinstance(x, torch.Tensor) else face.put(x)

            first, args, kwargs = pytree.tree_map(put, self.tree)
            return self.process(self.fn(first, *args, **kwargs))

        return run


class VmapSuite:
    """vmap over the samples' tensors; the answer is PyTorch's own result for each example, stacked."""

    @staticmethod
    def listing(dtypes: list[str] | None) -> list[tuple[str, str]]:
        return operators(dtypes, ("float32", "int64", "bool", "complex64"), lambda op: True)

    @staticmethod
    def run(name: str, oracle: Face, face: Face, rec: Record, opts: Any) -> None:
        ready = prepare(name, oracle, face, rec)
        if ready is None:
            return
        op, dtype, reference, fn = ready
        compare = Comparer(face, floor_of(op, dtype), opts.tol_scale)
        values = not op.name.split(".")[-1].startswith(UNDEFINED)
        for index, sample in enumerate(pick(op.sample_inputs("cpu", dtype), opts.max_samples)):
            gauge = any(word in op.name for word in GAUGE)
            process = sample.output_process_fn_grad if gauge else lambda x: x
            call, wide = Call(reference, sample, process), Call(reference, sample.transform(doubled), process)
            for k, dims in enumerate(batchings(call.tensors)):
                rec.at("vmap", 10 * index + k)
                given = [batched(t, d) for t, d in zip(call.tensors, dims)]
                wanted = answers(oracle, call, given, dims)
                if not wanted:
                    rec.add("vmap", "skip")
                    continue
                info = describe([given, {"in_dims": dims}, sample.args, sample.kwargs])
                try:
                    ours = Call(fn, sample, face.adopt(process) if gauge else process)
                    got = face.need("vmap")(ours.on(face), in_dims=dims)(*face.put(given))
                    faults = [compare.mismatch(want, got, values=values) for want in wanted]
                    fault = faults[0] if all(faults) else None
                    if fault and "values" in fault:
                        exact = answers(oracle, wide, [doubled(t) for t in given], dims)
                        fault = None if exact and as_good(face, exact[0], wanted[0], got) else fault
                    rec.judge("vmap", fault, info if fault else None)
                except Exception as err:
                    rec.add("vmap", "fail", error_text(err), info)
        rec.partial()


def batchings(given: list[torch.Tensor]) -> list[tuple[int | None, ...]]:
    """in_dims to try: all tensors in front, the first one last, all but the first in front."""
    if not given or any(t.layout != torch.strided for t in given):
        return []
    plans = [(0,) * len(given), (-1,) + (None,) * (len(given) - 1)]
    return plans + [(None,) + (0,) * (len(given) - 1)] * (len(given) > 1)


def batched(t: torch.Tensor, dim: int | None) -> torch.Tensor:
    """Three examples made of one: smaller numbers, or the same where they may be places."""
    if dim is None:
        return t
    inexact = t.is_floating_point() or t.is_complex()
    examples = [t * (1 - 0.125 * i) if inexact else t.clone() for i in range(BATCH)]
    return torch.stack([e.to(t.dtype) for e in examples], dim)


def answers(oracle: Face, call: Call, given: list[torch.Tensor], dims: tuple[int | None, ...]) -> list[Any]:
    """What PyTorch gives example by example, and under its vmap (they differ where strides count).

    Nothing where its vmap does not support the call.
    """
    fn = call.on(oracle)
    try:
        mapped = torch.vmap(fn, in_dims=dims)(*given)
        each = [
            fn(*(t if d is None else t.select(d, i).clone() for t, d in zip(given, dims)))
            for i in range(BATCH)
        ]
    except Exception:
        return []
    flat, spec = pytree.tree_flatten(mapped)
    rows = [pytree.tree_leaves(one) for one in each]
    if not flat or any(len(row) != len(flat) for row in rows):
        return []
    return [pytree.tree_unflatten([torch.stack(column) for column in zip(*rows)], spec), mapped]


class JvpSuite:
    """Forward-mode AD: the outputs' tangents for random tangents of the inputs."""

    @staticmethod
    def listing(dtypes: list[str] | None) -> list[tuple[str, str]]:
        return operators(dtypes, ("float64", "complex128"), lambda op: op.supports_forward_ad)

    @staticmethod
    def run(name: str, oracle: Face, face: Face, rec: Record, opts: Any) -> None:
        ready = prepare(name, oracle, face, rec)
        if ready is None:
            return
        op, dtype, reference, fn = ready
        compare = Comparer(face, floor_of(op, dtype), opts.tol_scale)
        samples = pick(op.sample_inputs("cpu", dtype, requires_grad=True), opts.max_samples)
        for index, sample in enumerate(samples):
            rec.at("jvp", index)
            process = sample.output_process_fn_grad
            wrap = domain_of(op)
            call = Call(functools.partial(wrap, reference), sample, process)
            tangents = [noise(t, SEED + i) if t.requires_grad else None for i, t in enumerate(call.tensors)]
            try:
                want = push(oracle, call, tangents) if any(t is not None for t in tangents) else []
            except Exception:
                want = []
            if not any(w is not None for w in want):
                rec.add("jvp", "skip")
                continue
            info = describe([sample.input, list(sample.args), sample.kwargs, {"tangents": tangents}])
            try:
                ours = Call(functools.partial(face.adopt(wrap), fn), sample, face.adopt(process))
                got = push(face, ours, tangents)
                pairs = enumerate(zip(want, got, strict=True))
                fault, near = compare.gradients((f"output {i}", w, g) for i, (w, g) in pairs if w is not None)
                rec.judge("jvp", fault, info if fault else None, near)
            except Exception as err:
                rec.add("jvp", "fail", error_text(err), info)
        rec.partial()


def domain_of(op: Any) -> Callable:
    """What keeps an operator's inputs symmetric or triangular where it must; else the plain call."""
    wrap = op.gradcheck_wrapper
    name = getattr(wrap, "__name__", "")
    return wrap if "hermitian" in name or "triangular" in name else plain_call


def plain_call(fn: Callable, *args: Any, **kwargs: Any) -> Any:
    return fn(*args, **kwargs)


def push(face: Face, call: Call, tangents: list[torch.Tensor | None]) -> list[Any]:
    """The tangents of the outputs: None for those that have none."""
    ad = face.need("autograd.forward_ad")
    face.seed(SEED)
    with ad.dual_level():
        given = []
        for t, tangent in zip(call.tensors, tangents):
            value = face.put(t.detach())
            given.append(value if tangent is None else ad.make_dual(value, face.put(tangent)))
        outs = tensors(call.on(face)(*given), face)
        return [ad.unpack_dual(out).tangent for out in outs]
