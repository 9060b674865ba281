"""Why an operator is slower than PyTorch's: what `bench/ops.py --page` writes beside its figures."""

from __future__ import annotations

import re

# (pattern of "operator direction", cause); the first that matches holds.
CAUSES: list[tuple[str, str]] = [
    (
        r"slogdet backward",
        "the sign's gradient: PyTorch returns zeros at once, ours goes through the factorization",
    ),
    (r"fftfreq", "composed of arange and products, in several passes"),
    (r"fftshift|roll", "parts are narrowed and joined; backward fills zeros for each part"),
    (
        r"irfft|hfft",
        "2046 has the factors 11 and 31: KissFFT, line by line, at a cost that grows with the factor",
    ),
    (r"fft", "in float64 vectors; MKL in float32 in PyTorch"),
    (r"as_strided_scatter", "through the histories of its views: several passes over strided memory"),
    (r"prelu", "composed of a comparison, a product and a choice; one pass in PyTorch"),
    (r"fill", "the input is copied before all of it is overwritten"),
    (r"clamp", "bounds travel as operands, written out in blocks; PyTorch keeps two numbers in registers"),
    (r"flip|rot90", "reversed 16 bytes at a time"),
    (r"bincount", "scatter_add of ones"),
    (r"put", "index_put, which reads a list of places first"),
    (r"repeat_interleave", "a list of places is written, then read by index_select; one pass in PyTorch"),
    (r"nextafter|hermite|legendre|laguerre|chebyshev|zeta", "one call for each element, without vectors"),
    (r"bessel_[jy]|log_ndtr|digamma|polygamma", "one element after the other, in float64"),
    (r"erfinv", "computed in float64 vectors; MKL in PyTorch"),
    (r"gelu", "erf by two polynomials and an exponential, to 1.2 ulp"),
    (r"_resize|im2col|col2im|unfold_copy", "composed of gathers by rows and columns; one kernel in PyTorch"),
    (
        r"(logsigmoid|smooth_l1_loss|glu|addmv) backward|addr|with_logits",
        "composed of several passes over memory; one in PyTorch",
    ),
    (r"trapezoid|tile", "composed: sums of slices"),
    (r"isin", "a sort, then a binary search for each element"),
    (r"count_nonzero|all|any", "elements become bool (or int64) in blocks before they are folded"),
    (r"complex", "two strided copies; PyTorch interleaves vectors"),
    (r"multilabel_margin_loss", "composed of gathers"),
    (r"sgn backward", "zeros are written out"),
    (r"char|arange", "converted one by one in baseline instructions"),
    (
        r"(max|min|median|nanmedian)\.dim backward|(topk|mode|kthvalue) backward",
        "zeros over the whole input, then a scatter of few elements: bound by the zeros",
    ),
    (r"index_reduce", "the input is copied, then folded in baseline instructions"),
    (r"max_pool1d", "indices are found too, though nobody asked"),
]


def cause_of(op: str, direction: str) -> str:
    """The cause, or that it is not known."""
    case = f"{op} {direction}"
    return next((cause for pattern, cause in CAUSES if re.search(pattern, case)), "not looked into yet")
