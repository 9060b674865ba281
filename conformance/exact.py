"""Whether a near miss is rounding: it is if the result lies about as close to the exact one as PyTorch's."""

from __future__ import annotations

from typing import Any

import torch

from .compare import tensors
from .face import Face

SPREAD = 3  # how much larger than the oracle's own a rounding error may be
WIDE = {torch.float32: torch.float64, torch.complex64: torch.complex128}


def doubled(value: Any) -> Any:
    """A float32 or complex64 tensor in twice the precision, as a leaf; anything else as it is."""
    if not isinstance(value, torch.Tensor) or value.dtype not in WIDE:
        return value
    return value.detach().to(WIDE[value.dtype]).requires_grad_(value.requires_grad)


def as_good(face: Face, exact: Any, want: Any, have: Any) -> bool:
    """Whether every tensor of `have` lies at most SPREAD times as far from the exact one as the oracle's."""
    triples = zip(tensors(exact), tensors(want), tensors(have, face), strict=True)
    return all(_one_as_good(_plain(a), _plain(b), face.fetch(c)) for a, b, c in triples)


def _plain(t: torch.Tensor) -> torch.Tensor:
    """Without history, and dense: sparse tensors cannot be compared."""
    return t.detach().to_dense() if t.layout != torch.strided else t.detach()


def _one_as_good(exact: torch.Tensor, want: torch.Tensor, have: torch.Tensor) -> bool:
    if exact.dtype != WIDE.get(want.dtype):
        return torch.equal(want, have)
    atol, rtol = 1e-5, 1.3e-6  # assert_close's for float32
    own = (want - exact).abs().max() if exact.numel() else 0.0
    allowed = (atol + rtol * exact.abs()).clamp_min(SPREAD * float(own))
    return bool(((have - exact).abs() <= allowed).all())
