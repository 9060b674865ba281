"""Why an operator is slower than PyTorch's: what `bench/ops.py --page` writes beside its figures."""

from __future__ import annotations

import re

# (pattern of "operator direction", cause); the first that matches holds.
CAUSES: list[tuple[str, str]] = [
    (r"fftfreq", "composed of arange and products, in several passes"),
    (r"fft", "in float64 vectors; MKL in float32 in PyTorch"),
    (r"put", "the places become byte offsets first; one pass in PyTorch"),
    (r"nextafter|hermite|legendre|laguerre|chebyshev|zeta", "one call for each element, without vectors"),
    (r"bessel_[jy]|log_ndtr|digamma|polygamma", "one element after the other, in float64"),
    (r"erfinv", "computed in float64 vectors; MKL in PyTorch"),
    (r"erfc|ndtr", "all of it is SLEEF's erfc to 1.5 ulp, one call for each vector"),
    (r"gelu", "erf by two polynomials and an exponential, to 1.2 ulp"),
    (r"_resize|im2col|col2im|unfold_copy", "composed of gathers by rows and columns; one kernel in PyTorch"),
    (
        r"mse_loss|(smooth_l1_loss|glu|acosh) backward|addr|with_logits",
        "composed of several passes over memory; one in PyTorch",
    ),
    (r"logsigmoid backward", "the exponential is computed again; PyTorch keeps it"),
    (r"cholesky_inverse", "by two triangular solves with the identity"),
    (r"isin", "a sort, then a binary search for each element"),
    (r"multilabel_margin_loss", "composed of gathers"),
    (r"sgn backward", "zeros are written out"),
    (r"index_reduce", "the input is copied, then folded in baseline instructions"),
    (r"(t|permute|transpose|as_strided)_copy", "transposed in tiles of four by four"),
    (r"nan_to_num", "three comparisons for each element"),
]


def cause_of(op: str, direction: str) -> str:
    """The cause, or that it is not known."""
    case = f"{op} {direction}"
    return next((cause for pattern, cause in CAUSES if re.search(pattern, case)), "not looked into yet")
