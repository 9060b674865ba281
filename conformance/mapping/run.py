"""The suite "mapping": a PyTorch name and a MindSpore name called with the same arguments, dtype by dtype."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_utils
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.opinfo import core

from .. import support
from ..compare import NEAR, Comparer, Record, describe, tensors
from ..face import Face, Missing, dotted
from ..ops import GAUGE, SEED, UNDEFINED, floor_of, full_name, invoke, pick
from . import modules, optimizers, samples, signatures, traps
from .face import MindSporeFace
from .fit import OF_PLACE, renames, same_value
from .names import details
from .signatures import KEYWORD, POSITIONAL, REQUIRED

DTYPES = (*("float32", "int64", "bool", "float64", "float16", "bfloat16", "int32", "uint8", "complex64"),)
common_utils.extract_test_fn = core.extract_test_fn = lambda: None  # it reads the stack for each sample
NO_KERNEL = (  # in MindSpore's messages: this target, or this dtype there
    *("unregistered", "Unsupported", "unsupported", "not support", "only supports Ascend"),
    *("Not implement exception", "on device CPU", "Create kernelmod", "KernelMod Init Failed"),
    *("must be a type of", "should be one of [mindspore", "type of the input tensor must be"),
    *("dtype of 'input' must be", "CreateKernel"),
)


def run(name: str, oracle: Face, face: MindSporeFace, rec: Record, opts: Any) -> None:
    """`torch.add > mindspore.mint.add @ float32,int64`."""
    path, target, dtypes = (part.strip() for part in name.replace("@", ">").split(">"))
    rec.data["outcomes"] = outcomes = {}
    if modules.case(path):
        modules.run(path, target, face, outcomes, rec, opts)
    elif optimizers.case(path):
        optimizers.run(path, target, face, outcomes, rec)
    elif tests(path):
        for dtype in dtypes.split(","):
            rec.at(dtype, 0)
            outcome = Functions(path, target, oracle, face, opts).of_dtype(getattr(torch, dtype))
            if outcome:
                outcomes[dtype] = outcome
            rec.partial()


def tests(path: str) -> list[Any]:
    """The entries that call a name: ours, or those of PyTorch's operator table."""
    name = path.removeprefix("torch.")
    if name in samples.FUNCTIONS:
        return [samples.FUNCTIONS[name]]
    return [_entries()[item] for item, _ in support.tests_of(name)]


@functools.cache
def _entries() -> dict[str, Any]:
    return {full_name(op): op for op in op_db}


def dtypes_of(path: str) -> list[str]:
    """The dtypes to measure: what PyTorch's tables have for the name, of those that both sides know."""
    if case := modules.case(path):
        return ["float32"] if torch.float32 in case.dtypes else []
    if optimizers.case(path):
        return ["float32"]
    have = {d for op in tests(path) for d in op.supported_dtypes("cpu")}
    return [d for d in DTYPES if getattr(torch, d) in have]


def plain(tree: Any) -> Any:
    """A result with tuples for lists and for tuples with names."""
    if isinstance(tree, (list, tuple)) and not isinstance(tree, torch.Size):
        return tuple(map(plain, tree))
    return tree


def verdict_of(err: BaseException) -> tuple[str, str]:
    """(kind, text) of an exception of MindSpore's."""
    lines = (line.strip() for line in str(err).splitlines())
    said = [line for line in lines if line and not line.startswith(("---", "- ", "mindspore/", "node: "))]
    kind = "kernel" if any(word in str(err) for word in NO_KERNEL) else "raises"
    text = " ".join(said[:1] if kind == "kernel" else said)
    return kind, f"{type(err).__name__}: {text or 'without a reason'}"[:200]


class Arguments:
    """How keyword arguments of PyTorch's are written for a MindSpore name."""

    def __init__(self, path: str, target: str, found: Any, theirs: Any) -> None:
        known = details(path, target)
        self.values, self.given = known.get("values", {}), known.get("given", {})
        method = path.startswith("torch.Tensor.")
        ours, offered = signatures.of(found, method), signatures.of(theirs, method)
        self.renamed = known.get("names") or renames(ours, offered)
        self.defaults = {p.name: p.default for s in ours for p in s}
        there = {p.name for s in offered for p in s if p.kind in (POSITIONAL, KEYWORD)}
        self.absent = set(known.get("absent", [])) | (set(self.defaults) - there if there else set())

    def named(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """By the other name, with the value that means the same; and what has to be given besides. What
        MindSpore does not take is left out where it says PyTorch's default, or only of place."""
        made = {
            self.renamed.get(k, k): self._value(k, v)
            for k, v in kwargs.items()
            if k not in OF_PLACE and not self._needless(k, v)
        }
        return {**self.given, **made}

    def _needless(self, name: str, value: Any) -> bool:
        absent = name in self.absent and name not in self.renamed
        return absent and same_value(repr(value), self.defaults.get(name, "0" if value == 0 else REQUIRED))

    def _value(self, name: str, value: Any) -> Any:
        return eval(self.values[name], {"value": value}) if name in self.values else value


class Functions:
    """A function or method on the samples of PyTorch's operator table."""

    def __init__(self, path: str, target: str, oracle: Face, face: MindSporeFace, opts: Any) -> None:
        found, theirs = dotted(torch, path), face.resolve(target)
        self.path, self.found, self.theirs = path, _called(found, path), _called(theirs, path)
        self.oracle, self.face, self.opts = oracle, face, opts
        self.arguments = Arguments(path, target, found, theirs)
        self.inplace = path.endswith("_") and not path.endswith("__")

    def of_dtype(self, dtype: torch.dtype) -> dict[str, Any]:
        """Counts of outcomes, and the smallest sample of each that is not good."""
        outcome: dict[str, Any] = {}
        sizes: dict[str, int] = {}
        for op, sample, trap in self.calls(dtype):
            judged = self.judge(op, dtype, sample)
            if judged is None:
                continue
            kind, text = judged
            kind = traps.OUTCOMES.get(trap, {}).get(kind, kind)
            outcome[kind] = outcome.get(kind, 0) + 1
            text = "" if kind == "ok" else text
            call = self.shown(sample) if text else ""
            size = sum(t.numel() for t in tensors([sample.input, sample.args, sample.kwargs])) or 10**5
            if text and size < sizes.get(kind, 10**6):
                sizes[kind] = size
                outcome[f"{kind}:"] = [call, text]
        return outcome

    def calls(self, dtype: torch.dtype) -> Iterator[tuple[Any, Any, str]]:
        """The samples; for what looks identical also variants of a few of them, with the kind of trap. Which
        few does not depend on how many samples there are: a check meets what the measurement met."""
        for op in tests(self.path):
            if dtype not in op.supported_dtypes("cpu"):
                continue
            for seed in (torch.manual_seed, random.seed, np.random.seed):
                seed(SEED)
            made = [s for s in op.sample_inputs("cpu", dtype) if not (self.inplace and s.broadcasts_input)]
            bases = pick(made, traps.BASES) if self.opts.traps else []
            varied = [(op, other, trap) for base in bases for trap, other in traps.variants(base)]
            yield from ((op, sample, "") for sample in pick(made, self.opts.max_samples))
            yield from varied

    def judge(self, op: Any, dtype: torch.dtype, sample: Any) -> tuple[str, str] | None:
        """(kind, text) of one sample; None where PyTorch itself does not take it so, or draws."""
        sample.kwargs = {k: v for k, v in sample.kwargs.items() if k not in ("device", "out")}
        try:
            before = torch.manual_seed(SEED).get_state()
            want, inputs, _ = invoke(self.oracle, self.found, sample)
            random_result = not torch.equal(before, torch.get_rng_state())
        except Exception:
            return None
        if want is NotImplemented:  # how an operator's method refuses
            return None
        try:
            first, args, kwargs = self.face.put((sample.input, sample.args, sample.kwargs))
        except (Missing, TypeError):
            return None
        try:
            got = self.theirs(first, *args, **self.arguments.named(kwargs))
            values = not random_result and not op.name.split(".")[-1].startswith(UNDEFINED)
            compare = Comparer(self.face, floor_of(op, dtype))
            kind, text = self.compared(compare, op, sample, want, got, values)
            if kind == "ok" and self.inplace and values:
                fault = compare.mismatch(inputs[0], first)
                kind, text = ("values", f"the input afterwards: {fault}") if fault else (kind, text)
            return ("random", "") if random_result and kind == "ok" else (kind, text)
        except Exception as err:
            return verdict_of(err)

    def compared(
        self, compare: Comparer, op: Any, sample: Any, want: Any, got: Any, values: bool
    ) -> tuple[str, str]:
        named = isinstance(want, tuple) and type(want) is not tuple and not isinstance(want, torch.Size)
        fault = compare.mismatch(plain(want), plain(got), values=values)
        if fault and any(g in op.name for g in GAUGE):
            fault = compare.mismatch(plain(want), plain(got), values=False)
        if not fault:
            fields = named and type(got) in (tuple, list)
            return ("fields", "the results have no names") if fields else ("ok", "")
        if compare.mismatch(plain(want), plain(got), values=values, factor=NEAR) is None:
            return "near", fault
        kind = next(
            (k for k in ("shape", "dtype", "size") if f"{k} " in fault.partition("values")[0]), "values"
        )
        if kind == "values" and _small(want) and self.face.is_tensor(got):
            fault = _both(want, self.face.fetch(got))
        return kind, fault[:200]

    def shown(self, sample: Any) -> str:
        name = self.path.removeprefix("torch.")
        parts = [_short(v) for v in (sample.input, *sample.args)]
        parts += [f"{k}={_short(v)}" for k, v in sample.kwargs.items()]
        return f"{name}({', '.join(parts)})"[:300]


def _small(x: Any) -> bool:
    return isinstance(x, torch.Tensor) and x.numel() <= 8


def _both(want: torch.Tensor, got: torch.Tensor) -> str:
    return f"PyTorch gives {want.tolist()}, MindSpore {got.tolist()}"


def _called(found: Any, path: str) -> Any:
    """What gives an attribute, where a name is one."""
    return found if callable(found) else lambda x: getattr(x, path.rpartition(".")[2])


def _short(value: Any) -> str:
    text = str(describe(value))
    return text.partition(" = ")[0] if len(text) > 80 else text
