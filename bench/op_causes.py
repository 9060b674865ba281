"""Why an operator is slower than PyTorch's: what `bench/ops.py --page` writes beside its figures."""

from __future__ import annotations

import re

# (pattern of "operator direction", cause); the first that matches holds.
CAUSES: list[tuple[str, str]] = [
    (
        r"slogdet backward",
        "timed is the sign's gradient: PyTorch returns zeros at once, ours goes through the factorization",
    ),
    (r"logdet backward", "two products where PyTorch solves with the factors"),
    (
        r"fft",
        "KissFFT, one line after the other in float64; PyTorch's MKL works on several lines in float32",
    ),
    (r"as_strided_(scatter|copy)", "the general copy between overlapping layouts, not by tiles"),
    (r"prelu", "composed of a comparison, a product and a choice; one pass in PyTorch"),
    (
        r"(sort|sort\.stable|msort) backward",
        "written along the dimension sorted, a cache line for each element",
    ),
    (
        r"bincount|put|_max_unpool|index_copy",
        "by way of scatter or index_put, which read a list of places first",
    ),
    (r"repeat_interleave", "a list of places is written, then read by index_select; one pass in PyTorch"),
    (r"nextafter|hermite|legendre|laguerre|chebyshev|zeta", "one call for each element, without vectors"),
    (r"bessel_[jy]|erfcx|log_ndtr|digamma|polygamma", "in float64 one element at a time; PyTorch in float32"),
    (r"erfinv|erfc|ndtr", "in float64, or SLEEF's 1.5 ulp; PyTorch calls MKL's vector functions"),
    (r"_resize|im2col|col2im|unfold_copy", "composed of gathers by rows and columns; one kernel in PyTorch"),
    (r"fill|ones|full", "filled in blocks of 2 KiB by copies; PyTorch stores vectors without reading"),
    (r"logsigmoid backward|glu|addr|addmv", "composed of several passes over memory; one in PyTorch"),
    (
        r"(elu|selu|hardswish|gelu)",
        "bound by memory in PyTorch; ours computes the exponential's arguments too",
    ),
    (r"trapezoid|isin", "composed: sums of shifted slices, or comparisons with all test elements"),
    (r"count_nonzero|all|any", "elements become bool (or int64) in blocks before they are folded"),
    (r"complex", "two strided copies; PyTorch interleaves vectors"),
    (r"multilabel_margin_loss", "composed of gathers"),
    (r"sgn backward", "zeros are written; PyTorch returns a tensor that has no memory"),
    (r"fftshift|roll|rot90|_scatter|transpose_copy|t_copy", "zeros are made, then parts copied into them"),
    (r"char|short|bfloat16", "conversion in baseline instructions"),
    (
        r"(max|min|median|nanmedian)\.dim backward|(topk|mode|kthvalue) backward",
        "zeros over the whole input, then a scatter of few elements: bound by the zeros",
    ),
    (r"index_reduce|take|max_pool1d", "indices are checked one by one while reading"),
]


def cause_of(op: str, direction: str) -> str:
    """The cause, or that it is not known."""
    case = f"{op} {direction}"
    return next((cause for pattern, cause in CAUSES if re.search(pattern, case)), "not looked into yet")
