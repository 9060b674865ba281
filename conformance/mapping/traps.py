"""Calls that no table has: what tells apart a name that looks identical on ordinary samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.testing._internal.opinfo.core import SampleInput

EDGE = "edges"  # NaN, infinities, -0, and tensors without elements
MIXED, FORM = "mixed", "form"  # operands of two dtypes; the same said otherwise
# What an outcome is called at edges, where rounding does not matter, and with operands of two dtypes.
OUTCOMES = {
    EDGE: dict.fromkeys(("values", "shape", "dtype", "size"), EDGE) | {"near": "ok", "raises": "kernel"},
    MIXED: {"raises": "kernel"},
    FORM: {},
}
BASES = 4  # samples that are varied
_SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0)


def variants(sample: Any) -> Iterator[tuple[str, Any]]:
    """(what kind of trap, the sample varied)."""
    tensors = _tensors(sample)
    if any(t.is_floating_point() and t.numel() for t in tensors):
        yield EDGE, _mapped(sample, special)
        if len(tensors) > 1 and tensors[0] is sample.input:
            varied = copy.copy(sample)
            varied.input = special(sample.input)
            yield EDGE, varied
    if tensors and tensors[0].dim() and tensors[0].numel():
        shape = tensors[0].shape
        yield EDGE, _mapped(sample, lambda t: t[:0] if t.shape == shape else t)
        if sample.input is tensors[0] and (sample.args or sample.kwargs):  # reduced as a whole
            yield EDGE, SampleInput(sample.input[:0])
    others = ((MIXED, _mixed(sample)), (FORM, _spread(sample)), (FORM, _undecided(sample)))
    yield from ((kind, made) for kind, made in others if made is not None)


def special(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor with NaN, infinities and -0 as its first elements."""
    if not tensor.is_floating_point() or tensor.layout != torch.strided:
        return tensor
    made = tensor.detach().clone(memory_format=torch.contiguous_format)
    flat = made.view(-1)
    for i, value in enumerate(_SPECIAL[: flat.numel()]):
        flat[i] = value
    return made


def _tensors(sample: Any) -> list[torch.Tensor]:
    return [t for t in (sample.input, *sample.args) if isinstance(t, torch.Tensor)]


def _mapped(sample: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    varied = copy.copy(sample)
    varied.input, *varied.args = (
        change(t) if isinstance(t, torch.Tensor) else t for t in (sample.input, *sample.args)
    )
    return varied


def _mixed(sample: Any) -> Any:
    """The second operand in another dtype."""
    if len(sample.args) != 1 or not all(isinstance(t, torch.Tensor) for t in (sample.input, *sample.args)):
        return None
    other = sample.args[0]
    if other.is_complex() or other.dtype == torch.bool or sample.input.dtype != other.dtype:
        return None
    if not (other.dim() and sample.input.dim()):  # docs/map.md says it for all of them
        return None
    varied = copy.copy(sample)
    varied.args = [other.to(torch.int64 if other.dtype == torch.float32 else torch.float32)]
    return varied


def _spread(sample: Any) -> Any:
    """Sizes given one by one: `ones(2, 3)` for `ones((2, 3))`."""
    varied = copy.copy(sample)
    if _is_sizes(sample.input) and not sample.args:
        varied.input, *varied.args = sample.input
    elif isinstance(sample.input, torch.Tensor) and len(sample.args) == 1 and _is_sizes(sample.args[0]):
        varied.args = list(sample.args[0])
    else:
        return None
    return varied


def _is_sizes(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) > 1 and all(type(n) is int for n in value)


def _undecided(sample: Any) -> Any:
    """Without the dtype, which then follows from the values."""
    if "dtype" not in sample.kwargs:
        return None
    varied = copy.copy(sample)
    varied.kwargs = {name: value for name, value in sample.kwargs.items() if name != "dtype"}
    return varied
