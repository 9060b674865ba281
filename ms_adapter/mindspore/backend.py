"""Runs operators of `mindspore` tensors by MindSpore's public callables, which the registry names."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from typing import Any

from ms_adapter import _C

from . import adapt, ascend
from ._package import ASCEND, dtype_pairs, mindspore, resolve, shares_memory, target

DEVICE = "mindspore"
NOT_ON_ASCEND = ("float64", "complex64", "complex128")  # what most of its callables do not take

fallbacks: Counter[str] = Counter()  # operator -> calls computed on cpu
refusals: dict[str, str] = {}  # operator -> why its callables did not serve, last seen
strict = False  # a fallback is an error


def plan(row: str, words: list[str]) -> tuple[Any, list[Any]]:
    """What the words of a row's `ms` field mean: candidates in order, "storage" or "drawn"; the fences."""
    mindspore()
    for kind in ("storage", "drawn"):
        if kind in words:
            return kind, []
    if "!any" in words:
        refusals[row] = "fenced off: MindSpore ends the process on some inputs"
        return [], []
    fences = [fence(word[1:]) for word in words if word[0] in "!?"]
    on_ascend = target() == ASCEND
    if on_ascend:
        fences += [_C.dtypes[name] for name in NOT_ON_ASCEND]
    candidates = []
    for word in sorted((w for w in words if w[0] not in "!?"), key=lambda w: ("mint." in w) != on_ascend):
        name, _, path = word.rpartition(":")
        function = resolve(path)
        if function is not None:
            how = adapt.find(name or "promoted")
            candidates.append((path, function, how.run, how.direct, how.empty, not how.data))
    if not candidates:
        refusals.setdefault(row, "the registry names no callable for it")
    return candidates, fences


def fence(word: str) -> Any:
    """A fence as the core reads it: a dtype, or "empty", "scalar" or "odd"."""
    return word if word in ("empty", "scalar", "odd") else _C.dtypes[word]


def dtypes() -> list[tuple[Any, Any]]:
    """Our dtypes with MindSpore's."""
    return [(_C.dtypes[name], theirs) for name, theirs in dtype_pairs()]


def handle(tensor: Any) -> Any:
    """A MindSpore tensor over a cpu tensor's memory; a copy where MindSpore has no such strides, or memory of
    its own."""
    ms = mindspore()
    if not shares_memory():
        return _copied(ms, tensor)
    if str(tensor.dtype) == "torch.bfloat16" or not tensor.is_contiguous():
        if not tensor.is_complex() and str(tensor.dtype) != "torch.bool" and tensor.numel():
            from mindspore.utils.dlpack import from_dlpack

            return from_dlpack(tensor.__dlpack__())
        tensor = tensor.contiguous()
    return ms.Tensor.from_numpy(tensor.numpy())


def _copied(ms: Any, tensor: Any) -> Any:
    """A MindSpore tensor of the same numbers in MindSpore's memory."""
    if str(tensor.dtype) == "torch.bfloat16":
        return ms.Tensor(tensor.float().numpy()).astype(ms.bfloat16)
    return ms.Tensor(tensor.numpy().copy())


def home(tensor: Any) -> Any:
    """A cpu tensor of the same numbers as one in MindSpore's memory."""
    from ms_adapter import pytorch

    name = str(tensor.dtype)
    if name.lower() == "bfloat16":
        return pytorch.from_numpy(tensor.float().asnumpy().copy()).to(pytorch.bfloat16)
    return pytorch.from_numpy(tensor.asnumpy().copy())


def refuse(row: str, path: str, error: BaseException) -> None:
    """Notes why a callable did not serve."""
    refusals[row] = f"{path}: {str(error).strip().partition(chr(10))[0]}"


def fell_back(row: str) -> None:
    """Counts a call computed on cpu, says so once for each operator; an error when strict."""
    why = refusals.get(row, "its callables do not take these arguments")
    if strict:
        raise RuntimeError(
            f"{row}: no MindSpore callable serves it ({why}), and --strict forbids computing it on cpu; "
            "run without --strict, or move the inputs with .to('cpu')."
        )
    if row not in fallbacks:
        warnings.warn(f"{row}: no MindSpore callable serves it ({why}); computed on cpu", stacklevel=2)
    fallbacks[row] += 1


def fallback_report() -> list[tuple[str, int, str]]:
    """(operator, calls computed on cpu, why MindSpore's callables did not serve), most frequent first."""
    return [(row, n, refusals.get(row, "not these arguments")) for row, n in fallbacks.most_common()]


def require(device: str) -> None:
    """RuntimeError with the next step where a device cannot be used here."""
    if device == "npu" and (why := ascend.why_not()):
        raise RuntimeError(why)
    if device == DEVICE:
        mindspore()


def set_strict(on: bool) -> None:
    """Whether computing on cpu is an error."""
    global strict
    strict = on


def install(device: str = DEVICE) -> None:
    """Makes this module the backend of a device; the first call there imports MindSpore."""
    _C.set_package(device, sys.modules[__name__])
