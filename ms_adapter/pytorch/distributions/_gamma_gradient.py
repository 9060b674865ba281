"""Gamma draws that gradients flow through, by implicit reparametrisation."""

import ms_adapter.pytorch as torch

from ..autograd import Function

_LARGE = 1000.0  # from here on the cube of a normal draw is as good as the series


def _by_series(a, x):
    """-(dP/da) / (dP/dx) of the regularised incomplete gamma function P(a, x), from its power series.

    P is ``x**a exp(-x) / Gamma(a)`` times the sum of ``x**n / (a (a+1) ... (a+n))``.
    """
    term = 1 / a
    harmonic = 1 / a  # the sum of 1 / (a + k) up to the term: minus its logarithmic derivative
    total, slope, n = term, -term * harmonic, 0
    while True:
        for _ in range(16):
            n += 1
            term = term * x / (a + n)
            harmonic = harmonic + 1 / (a + n)
            total, slope = total + term, slope - term * harmonic
        if bool((term <= 1e-17 * total).all()):
            break
    return -x * ((x.log() - a.digamma()) * total + slope)


def _by_cube(a, x):
    """The same for large ``a``, where the cube root of x / a is nearly normal (Wilson and Hilferty)."""
    root = (x / a) ** (1 / 3)
    z_part = root - 1 + 1 / (9 * a)  # the normal draw over 3 sqrt(a)
    return root**2 * (root + 3 * (1 / (9 * a) - z_part / 2))


def gamma_gradient(concentration, draw):
    """The derivative of a standard gamma draw by the concentration, at the same quantile."""
    a, x = concentration.double(), draw.double()
    large = a > _LARGE
    result = _by_cube(a, x)
    if not bool(large.all()):
        one = torch.ones_like(a)
        result = torch.where(
            large, result, _by_series(torch.where(large, one, a), torch.where(large, one, x))
        )
    return result.to(draw.dtype)


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx, concentration):
        draw = torch._standard_gamma(concentration)
        ctx.save_for_backward(concentration, draw)
        return draw

    @staticmethod
    def backward(ctx, grad):
        return grad * gamma_gradient(*ctx.saved_tensors)


def standard_gamma(concentration):
    """Draws from the gamma distribution of rate 1, that gradients flow through."""
    return _StandardGamma.apply(concentration)
