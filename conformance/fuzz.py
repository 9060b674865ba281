"""Odd inputs: samples bent into empty, expanded, overlapping, far-strided and 8-dimensional ones.

On a sanitizer build too (`make sanitize-fuzz`): PyTorch's answer or its refusal, and never a crash.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable
from typing import Any

import torch

from .compare import NEAR, Comparer, Record, describe, error_text
from .exact import as_good, doubled
from .face import Face
from .ops import GAUGE, UNDEFINED, floor_of, invoke, listing, pick, prepare

__all__ = ["listing", "run"]

ORACLE_CRASHES = {
    "_chunk_cat": "PyTorch 2.13 itself ends with SIGSEGV for 0-d tensors",
    "lu_unpack": "PyTorch 2.13 reads and writes beyond pivots of a wrong shape",
}
ROUNDS = 3  # how often each sample is bent
FAR = 257  # elements between neighbours of a far-strided tensor


def bend_empty(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    return t.narrow(rng.randrange(t.dim()), 0, 0) if t.dim() else t


def bend_scalar(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    return t.reshape(-1)[rng.randrange(t.numel())] if t.numel() else t


def bend_expanded(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    if not t.dim() or 0 in t.shape:
        return t.expand(3, *t.shape)
    dim = rng.randrange(t.dim())
    return t.narrow(dim, 0, 1).expand(t.shape)


def bend_overlapping(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    """Neighbouring rows share elements."""
    if t.dim() < 2 or 0 in t.shape:
        return t
    strides = [1] * t.dim()
    return t.contiguous().as_strided(t.shape, strides)


def bend_far(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    """The same values, with much room between them."""
    if not t.dim() or not 0 < t.numel() < 4000:
        return t
    room = torch.zeros(t.numel() * FAR + 1, dtype=t.dtype)
    spread = room.as_strided(t.shape, [s * FAR for s in t.contiguous().stride()], 1)
    return spread.copy_(t)


def bend_deep(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    return t.reshape([1] * max(0, 8 - t.dim()) + list(t.shape))


def bend_transposed(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    return t.movedim(0, -1).contiguous().movedim(-1, 0) if t.dim() > 1 else t


def bend_grown(t: torch.Tensor, rng: random.Random) -> torch.Tensor:
    """One more than the others expect along a dimension."""
    return torch.cat([t, t.narrow(d, 0, 1)], d) if t.dim() and t.shape[d := rng.randrange(t.dim())] else t


BENDS = (
    bend_empty,
    bend_scalar,
    bend_expanded,
    bend_overlapping,
    bend_far,
    bend_deep,
    bend_transposed,
    bend_grown,
)


def bend_tree(value: Any, bend: Callable, rng: random.Random, chance: float) -> Any:
    """The arguments with some tensors bent, and now and then a number replaced by one out of the way."""
    if isinstance(value, torch.Tensor):
        plain = value.layout == torch.strided and value.device.type == "cpu"
        return bend(value.detach(), rng) if plain and rng.random() < chance else value
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(bend_tree(v, bend, rng, chance) for v in value)
    if isinstance(value, dict):
        return {k: bend_tree(v, bend, rng, chance) for k, v in value.items()}
    if type(value) is int and rng.random() < 0.1:
        return rng.choice((-9, -1, 0, 1, 9))
    return value


def bent(sample: Any, rng: random.Random) -> Any:
    """A copy of a sample with one kind of bend: all its tensors, or each with an even chance."""
    bend, chance = rng.choice(BENDS), rng.choice((1.0, 0.5))
    first = bend_tree(sample.input, bend, rng, chance)
    args, kwargs = (bend_tree(x, bend, rng, chance) for x in (tuple(sample.args), sample.kwargs))
    made = type(sample)(first, args=args, kwargs=kwargs)
    made.output_process_fn_grad = sample.output_process_fn_grad
    return made


def run(name: str, oracle: Face, face: Face, rec: Record, opts: Any) -> None:
    ready = prepare(name, oracle, face, rec)
    if ready is None:
        return
    op, dtype, reference, fn = ready
    if op.name in ORACLE_CRASHES:
        rec.data["skip"] = ORACLE_CRASHES[op.name]
        return
    compare = Comparer(face, floor_of(op, dtype), opts.tol_scale)
    values = not op.name.split(".")[-1].startswith(UNDEFINED)
    gauge = any(g in op.name for g in GAUGE)
    rng = random.Random(zlib.crc32(name.encode()))
    samples = pick(op.sample_inputs("cpu", dtype), opts.max_samples)
    for index, sample in enumerate(s for s in samples for _ in range(ROUNDS)):
        rec.at("fuzz", index)
        one(oracle, face, reference, fn, bent(sample, rng), compare, rec, values, gauge)
    rec.partial()


def one(
    oracle: Face,
    face: Face,
    reference: Callable,
    fn: Callable,
    sample: Any,
    compare: Comparer,
    rec: Record,
    values: bool,
    gauge: bool,
) -> None:
    """One call on both sides: equal results, or a refusal on both."""
    info = describe([sample.input, list(sample.args), sample.kwargs])
    refusal = None
    try:
        want = invoke(oracle, reference, sample)[0]
    except Exception as err:
        refusal = f"{type(err).__name__}: {str(err)[:150]}"
    try:
        got = invoke(face, fn, sample)[0]
    except Exception as err:
        rec.judge("fuzz", None if refusal else error_text(err), info)
        return
    if refusal:
        rec.judge("fuzz", f"PyTorch refuses, {refusal}; here an answer", info)
    else:
        fault = compare.mismatch(want, got, values=values)
        if fault and gauge:
            process = sample.output_process_fn_grad
            want, got = process(want), face.adopt(process)(got)
            fault = compare.mismatch(want, got)
        if fault and compare.mismatch(want, got, factor=NEAR) is None:
            exact = invoke(oracle, reference, sample.transform(doubled))[0]
            exact = sample.output_process_fn_grad(exact) if gauge else exact
            fault = None if as_good(face, exact, want, got) else fault
        rec.judge("fuzz", fault, info if fault else None)
