"""Wrong calls: a sample of each operator, spoilt in one place at a time; both sides must refuse it alike."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .compare import Comparer, Record, describe, error_text, tensors
from .face import Face, Missing
from .ops import SEED, UNDEFINED, entry, floor_of, listing

__all__ = ["listing", "run", "spoilt"]

Spoilt = tuple[str, list[Any], dict[str, Any]]  # what is wrong: (kind, args, kwargs)
TYPES = ("x", None, 1.5, 2j, True, object(), [1.5], (1, 2), torch.ones(2))
DTYPES = (torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64, torch.complex64)
NUMBERS = (-1, -7, 0, 2, 17)


def shapes(t: torch.Tensor) -> Iterator[torch.Tensor]:
    """The values of a tensor in other shapes."""
    yield t.unsqueeze(0)
    yield t.flatten()
    yield t.new_zeros(())
    if t.dim():
        yield t[0] if len(t) else t.sum(0)
        yield t[:0]
        yield torch.cat([t, t], -1)


def replacements(value: Any) -> Iterator[tuple[str, Any]]:
    """(kind, what stands in the place of an argument)."""
    yield from (("type", other) for other in TYPES if type(other) is not type(value))
    if isinstance(value, torch.Tensor):
        yield from (("dtype", value.to(d)) for d in DTYPES if d is not value.dtype)
        yield from (("shape", other) for other in shapes(value))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield from (("number", type(value)(n)) for n in NUMBERS if n != value)
    elif isinstance(value, str):
        yield "number", "nothing"
    elif isinstance(value, (list, tuple)) and value and all(isinstance(x, int) for x in value):
        yield from (("number", type(value)(n for _ in value)) for n in NUMBERS)
        yield from (("number", type(value)(other)) for other in ([], [*value, value[-1]], value[:1] * 2))
    elif isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
        yield "shape", type(value)()
        first, rest = value[0], list(value[1:])
        yield from (("dtype", type(value)([first.to(d), *rest])) for d in DTYPES)
        yield from (("shape", type(value)([other, *rest])) for other in shapes(first))


def outputs(result: Any, args: list[Any]) -> Iterator[Any]:
    """What is wrong as out= where `result` would fit."""
    if not isinstance(result, torch.Tensor):
        several = tuple(tensors(result))
        yield from (tuple(t.to(d) for t in several) for d in DTYPES)
        yield several[:1]
        yield from several[:1]
        return
    yield from (result.to(d) for d in DTYPES if d is not result.dtype)
    yield from (result.new_zeros((7,)), result.new_zeros((2, *result.shape)), [result], "x")
    if result.is_floating_point():
        yield result.clone().requires_grad_()
    if result.dim() and len(result) > 1:
        yield result[:1].clone().expand(result.shape)
    yield from (a for a in args if isinstance(a, torch.Tensor) and a.shape == result.shape)


def spoilt(args: list[Any], kwargs: dict[str, Any], result: Any, takes_out: bool) -> Iterator[Spoilt]:
    """A call that is right, spoilt in one place at a time."""
    yield from (("missing", args[:n], kwargs) for n in range(len(args)))
    yield from (("missing", args, {k: v for k, v in kwargs.items() if k != name}) for name in kwargs)
    yield "unknown", [*args, *[None] * 20], kwargs
    yield "unknown", args, {**kwargs, "surprise": 1}
    for i, value in enumerate(args):
        yield from ((k, [*args[:i], other, *args[i + 1 :]], kwargs) for k, other in replacements(value))
    for name, value in kwargs.items():
        yield from ((k, args, {**kwargs, name: other}) for k, other in replacements(value))
    if takes_out:
        yield from (("out", args, {**kwargs, "out": other}) for other in outputs(result, args))


def selves(t: Any) -> Iterator[torch.Tensor]:
    """What an in-place operator may not be able to change."""
    if isinstance(t, torch.Tensor):
        yield from (t.to(d) for d in DTYPES if d is not t.dtype)
        if t.is_floating_point():
            yield t.clone().requires_grad_()
        if t.dim() and len(t) > 1:
            yield t[:1]
            yield t[:1].expand(t.shape)


def copies(face: Face, tree: Any) -> Any:
    """Fresh copies with their gradient flags and repeats (put makes none where face is the oracle)."""
    return face.put(tree, grad=True)


def outcome(face: Face, fn: Callable, args: list[Any], kwargs: dict[str, Any]) -> tuple[Any, set[str]]:
    """What a call returns or raises, and the kinds of its warnings."""
    face.seed(SEED)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = fn(*args, **kwargs)
        except Exception as err:
            result = err
    return result, {w.category.__name__ for w in said if issubclass(w.category, (UserWarning, FutureWarning))}


# Python code stumbles over an argument of the wrong type in its own way; a row says TypeError.
STUMBLES = (AttributeError, TypeError)


def alike(theirs: Exception, mine: Exception, face: Face) -> bool:
    """Whether code that catches theirs catches mine. A dtype may be both wrong here and not implemented."""
    for family in (STUMBLES, RuntimeError):
        if isinstance(theirs, family) and isinstance(mine, family):
            return True
    return isinstance(mine, (type(theirs), face.adopt(type(theirs))))


def judge(face: Face, compare: Comparer, theirs: Any, mine: Any, values: bool) -> str | None:
    if isinstance(theirs, NotImplementedError) and not isinstance(mine, Exception):
        return None  # a dtype that only we can
    if isinstance(theirs, Exception):
        wanted = f"should raise {type(theirs).__name__}: {str(theirs)[:150]}"
        if not isinstance(mine, Exception):
            return f"{wanted}; raised nothing"
        return None if alike(theirs, mine, face) else f"{wanted}; {error_text(mine)}"
    if isinstance(mine, Exception):
        return f"should be taken; {error_text(mine)}"
    return compare.mismatch(theirs, mine, values=values)


def run(name: str, oracle: Face, face: Face, rec: Record, opts: Any) -> None:
    """Spoil the first sample of one operator in all ways."""
    op, dtype = entry(name, face, rec)
    if dtype is not None and rec.data["exists"]:
        Spoiler(op, dtype, oracle, face, rec).run()


class Spoiler:
    """The wrong calls of one operator."""

    def __init__(self, op: Any, dtype: torch.dtype, oracle: Face, face: Face, rec: Record) -> None:
        self.op, self.oracle, self.face, self.rec = op, oracle, face, rec
        self.compare = Comparer(face, floor_of(op, dtype), 10)
        self.values = not op.name.split(".")[-1].startswith(UNDEFINED)
        self.sample = self.pick(op.sample_inputs("cpu", dtype))

    def pick(self, samples: Iterator[Any]) -> Any:
        """The sample with most arguments among the first; empty tensors are no good."""
        first = [s for _, s in zip(range(12), samples)]
        solid = [s for s in first if all(t.numel() for t in tensors([s.input, s.args, s.kwargs]))]
        return max(solid or first, key=lambda s: len(s.args) + len(s.kwargs))

    def run(self) -> None:
        sample, reference = self.sample, self.oracle.adopt(self.op.op)
        args, kwargs = [sample.input, *sample.args], sample.kwargs
        try:
            fn = self.face.adopt(self.op.op)
            inplace = self.op.inplace_variant and self.face.adopt(self.op.inplace_variant)
        except Missing as err:
            self.rec.add("missing", "fail", str(err))
            return
        result = reference(*copies(self.oracle, args), **copies(self.oracle, kwargs))
        if any(t.layout != torch.strided for t in tensors([result, args, kwargs])):
            self.rec.data["skip"] = "sparse"
            return
        torch.manual_seed(SEED)
        again = [reference(*copies(self.oracle, args), **copies(self.oracle, kwargs)) for _ in range(2)]
        self.values &= self.compare_same(*again)
        for kind, a, k in spoilt(args, kwargs, result, self.op.supports_out):
            self.one(kind, reference, fn, a, k)
        if inplace:
            for this in selves(args[0]):
                self.one("inplace", self.op.inplace_variant, inplace, [this, *args[1:]], kwargs)
        self.rec.partial()

    def compare_same(self, a: Any, b: Any) -> bool:
        def bits(x: torch.Tensor) -> torch.Tensor:  # PyTorch cannot compare complex32
            return x.to(torch.complex64) if x.dtype == torch.complex32 else x

        return all(torch.equal(bits(x), bits(y)) for x, y in zip(tensors(a), tensors(b)))

    def one(self, kind: str, reference: Callable, fn: Callable, args: list[Any], kwargs: Any) -> None:
        self.rec.at(kind, str(describe([args, kwargs])))
        their_args, their_kwargs = copies(self.oracle, (args, kwargs))
        try:
            my_args, my_kwargs = copies(self.face, (args, kwargs))
        except (Missing, TypeError):
            self.rec.add(kind, "skip")
            return
        theirs, their_warnings = outcome(self.oracle, reference, their_args, their_kwargs)
        mine, my_warnings = outcome(self.face, fn, my_args, my_kwargs)
        values = self.values and kind not in ("dtype", "inplace")  # those are the ops suite's
        fault = judge(self.face, self.compare, theirs, mine, values)
        info = describe([args, kwargs])
        self.rec.judge(kind, fault, info if fault else None)
        if their_warnings or my_warnings:
            same = their_warnings == my_warnings
            text = f"warns {sorted(my_warnings)}, should {sorted(their_warnings)}"
            self.rec.judge("warnings", None if same else text, info)
