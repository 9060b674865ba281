"""Reductions and normalizations that count only the elements where ``mask`` is true.

What the mask leaves out is replaced by a value that changes nothing (0 for sums, -inf for maxima); where it
leaves nothing the result holds that value, or NaN where a mean or a softmax of nothing is asked for.
"""

import ms_adapter.pytorch as torch

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def _dims(input, dim):
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(d for d, _ in enumerate(input.shape))
    return (dim,) if isinstance(dim, int) else tuple(dim)


def _lowest(dtype):
    if dtype == torch.bool:
        return False
    return -torch.inf if dtype.is_floating_point or dtype.is_complex else torch.iinfo(dtype).min


def _highest(dtype):
    if dtype == torch.bool:
        return True
    return torch.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def _kept(input, mask, value, dtype=None):
    """The input with ``value`` where the mask (broadcast to it) is false."""
    input = input if dtype is None else input.to(dtype)
    if mask is None:
        return input
    if mask.dtype != torch.bool:
        mask = mask.bool()
    return torch.where(mask, input, torch.tensor(value, dtype=input.dtype, device=input.device))


def _count(input, dim, keepdim, mask):
    ones = torch.ones(input.shape, dtype=torch.int64, device=input.device)
    return _kept(ones, mask, 0).sum(_dims(input, dim), keepdim)


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum over ``dim`` of what the mask keeps.

    >>> import ms_adapter.pytorch as torch
    >>> torch.masked.sum(torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = torch.int64
    return (
        _kept(input, mask, 0, dtype).sum(_dims(input, dim), keepdim)
        if input.dim()
        else _kept(input, mask, 0, dtype)
    )


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product over ``dim`` of what the mask keeps."""
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = torch.int64
    result = _kept(input, mask, 1, dtype)
    for d in sorted((d % max(input.dim(), 1) for d in _dims(input, dim)), reverse=True):
        result = result.prod(d, keepdim)
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    """The running sum along ``dim`` of what the mask keeps."""
    return torch.cumsum(_kept(input, mask, 0, dtype), dim, dtype=dtype or input.dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    """The running product along ``dim`` of what the mask keeps."""
    return torch.cumprod(_kept(input, mask, 1, dtype), dim, dtype=dtype or input.dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element over ``dim`` that the mask keeps."""
    return torch.amax(_kept(input, mask, _lowest(dtype or input.dtype), dtype), _dims(input, dim), keepdim)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest element over ``dim`` that the mask keeps."""
    return torch.amin(_kept(input, mask, _highest(dtype or input.dtype), dtype), _dims(input, dim), keepdim)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index (in the input's dtype) of the largest element along ``dim`` that the mask keeps."""
    dtype = dtype or input.dtype
    return torch.argmax(_kept(input, mask, _lowest(dtype), dtype), dim, keepdim).to(dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The index (in the input's dtype) of the smallest element along ``dim`` that the mask keeps."""
    dtype = dtype or input.dtype
    return torch.argmin(_kept(input, mask, _highest(dtype), dtype), dim, keepdim).to(dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean over ``dim`` of what the mask keeps.

    >>> import ms_adapter.pytorch as torch
    >>> torch.masked.mean(torch.tensor([1.0, 2.0]), mask=torch.tensor([True, False]))
    tensor(1.)
    """
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = torch.get_default_dtype()
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median along ``dim`` of what the mask keeps; NaN where that is nothing."""
    if not (dtype or input.dtype).is_floating_point:
        raise TypeError(f"median: expected a floating-point dtype, got {dtype or input.dtype}")
    if mask is None:
        return torch.median(input if dtype is None else input.to(dtype), dim, keepdim).values
    if bool(torch.isnan(input.detach()).any()):
        raise ValueError("masked median expects no NaNs in the input")
    return torch.nanmedian(_kept(input, mask, torch.nan, dtype), dim, keepdim).values


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm over ``dim`` of what the mask keeps."""
    out_of_reach = torch.inf if ord == -torch.inf else 0
    return torch.linalg.vector_norm(_kept(input, mask, out_of_reach, dtype), ord, _dims(input, dim), keepdim)


def _moments(input, dim, correction, keepdim, dtype, mask):
    if dtype is None and not (input.is_floating_point() or input.is_complex()):
        dtype = torch.get_default_dtype()
    x = input if dtype is None else input.to(dtype)
    apart = x - mean(x, dim, keepdim=True, mask=mask)
    squares = _kept(apart * apart.conj(), mask, 0)
    squares = squares.real if squares.is_complex() else squares
    count = _count(x, dim, keepdim, mask) - correction
    return (squares.sum(_dims(x, dim), keepdim) / torch.clamp(count, min=0)).to(x.dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance over ``dim`` of what the mask keeps; unless ``unbiased`` is false divided by one less."""
    return _moments(input, dim, _correction(unbiased, correction), keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The square root of :func:`var`."""
    return torch.sqrt(_moments(input, dim, _correction(unbiased, correction), keepdim, dtype, mask))


def _correction(unbiased, correction):
    if unbiased is not None and correction is not None:
        raise ValueError("Only one of unbiased and correction may be given")
    return correction if correction is not None else int(unbiased is not False)


def softmax(input, dim, *, dtype=None, mask=None):
    """Softmax along ``dim`` over what the mask keeps."""
    return torch.softmax(_kept(input, mask, -torch.inf, dtype), dim)


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of :func:`softmax`."""
    return torch.log_softmax(_kept(input, mask, -torch.inf, dtype), dim)


def softmin(input, dim, *, dtype=None, mask=None):
    """Softmax of the negated input along ``dim`` over what the mask keeps."""
    return torch.softmax(-_kept(input, mask, torch.inf, dtype), dim)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """What the mask keeps divided by its norm along ``dim`` (``eps`` at least); the rest 0."""
    x = input if dtype is None else input.to(dtype)
    length = norm(x, ord, dim, keepdim=True, mask=mask)
    return _kept(x, mask, 0) / torch.clamp(length, min=eps)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), what a mask leaves out counting as -inf."""
    return torch.logaddexp(
        _kept(input, input_mask, -torch.inf, dtype), _kept(other, other_mask, -torch.inf, dtype)
    )


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp)) over ``dim`` of what the mask keeps."""
    dtype = dtype or input.dtype
    return torch.logsumexp(_kept(input, mask, _lowest(dtype), dtype), _dims(input, dim), keepdim).to(dtype)
