"""Window functions of M points: symmetric, or periodic (``sym=False``: the first M of M + 1)."""

import math

import ms_adapter.pytorch as torch

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _points(name, M, dtype, layout, device, requires_grad, shape):
    """``shape(k)`` at k = 0 .. M - 1; one point is 1, none is empty."""
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout not in (None, torch.strided):
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if dtype not in (torch.float32, torch.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if M <= 1:
        return torch.ones(M, dtype=dtype, device=device, requires_grad=requires_grad)
    window = shape(torch.arange(M, dtype=torch.float64)).to(dtype=dtype, device=device)
    return window.requires_grad_(requires_grad)


def _last(M, sym):
    """The number of steps from the first point to the last of the symmetric window."""
    return M - 1 if sym else M


def exponential(
    M, *, center=None, tau=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False
):
    """exp(-abs(k - center) / tau); ``center`` is the middle, and may be given for periodic windows only.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    middle = _last(M, sym) / 2 if center is None else center
    shape = lambda k: torch.exp(-(k - middle).abs() / tau)  # noqa: E731
    return _points("exponential", M, dtype, layout, device, requires_grad, shape)


def cosine(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """sin(pi (k + 1/2) / M).

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    shape = lambda k: torch.sin((k + 0.5) * (math.pi / (_last(M, sym) + 1)))  # noqa: E731
    return _points("cosine", M, dtype, layout, device, requires_grad, shape)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The bell curve with the standard deviation ``std`` points.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    shape = lambda k: torch.exp(-(((k - _last(M, sym) / 2) / std) ** 2) / 2)  # noqa: E731
    return _points("gaussian", M, dtype, layout, device, requires_grad, shape)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """i0(beta sqrt(1 - x^2)) / i0(beta) for x from -1 to 1.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.kaiser(3, beta=0.0)
    tensor([1., 1., 1.])
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")

    def shape(k):
        x = k * (2 / _last(M, sym)) - 1
        return torch.i0(beta * torch.sqrt(torch.clamp(1 - x * x, min=0))) / torch.i0(
            torch.tensor(beta, dtype=torch.float64)
        )

    return _points("kaiser", M, dtype, layout, device, requires_grad, shape)


def bartlett(M, *, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The triangle from 0 up to 1 and back.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.bartlett(3)
    tensor([0., 1., 0.])
    """
    shape = lambda k: 1 - (k * (2 / _last(M, sym)) - 1).abs()  # noqa: E731
    return _points("bartlett", M, dtype, layout, device, requires_grad, shape)


def general_cosine(M, *, a, sym=True, dtype=None, layout=None, device=None, requires_grad=False):
    """The sum of (-1)^i a[i] cos(2 pi i k / (M - 1)).

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    if not isinstance(a, (list, tuple)):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")

    def shape(k):
        angle = k * (2 * math.pi / _last(M, sym))
        return sum((-1) ** i * factor * torch.cos(i * angle) for i, factor in enumerate(a))

    return _points("general_cosine", M, dtype, layout, device, requires_grad, shape)


def general_hamming(M, *, alpha=0.54, **options):
    """alpha - (1 - alpha) cos(2 pi k / (M - 1)); ``options`` as in :func:`general_cosine`.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[alpha, 1.0 - alpha], **options)


def hamming(M, **options):
    """:func:`general_hamming` with alpha 0.54.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, alpha=0.54, **options)


def hann(M, **options):
    """:func:`general_hamming` with alpha 0.5.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(M, alpha=0.5, **options)


def blackman(M, **options):
    """:func:`general_cosine` with 0.42, 0.5, 0.08.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.blackman(3).round(decimals=3).abs()
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], **options)


def nuttall(M, **options):
    """:func:`general_cosine` with the four coefficients of Nuttall's minimum 4-term window.

    >>> import ms_adapter.pytorch as torch
    >>> torch.signal.windows.nuttall(3).round(decimals=3)
    tensor([0., 1., 0.])
    """
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], **options)
