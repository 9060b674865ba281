"""The gamma distribution."""

import ms_adapter.pytorch as torch

from . import constraints
from ._gamma_gradient import standard_gamma
from .distribution import Elementwise
from .exp_family import ExponentialFamily

__all__ = ["Gamma"]


class Gamma(Elementwise, ExponentialFamily):
    """Gamma distributions of shape ``concentration`` and inverse scale ``rate``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0
    _params = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=None):
        self._set_params(validate_args, concentration, rate)

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)  # zero would have no logarithm
        return value

    def log_prob(self, value):
        value = torch.as_tensor(value, dtype=self.rate.dtype, device=self.rate.device)
        if self._validate_args:
            self._validate_sample(value)
        return (
            torch.xlogy(self.concentration, self.rate)
            + torch.xlogy(self.concentration - 1, value)
            - self.rate * value
            - torch.lgamma(self.concentration)
        )

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        digamma = torch.digamma(self.concentration)
        shape_part = torch.lgamma(self.concentration) + (1.0 - self.concentration) * digamma
        return self.concentration - torch.log(self.rate) + shape_part

    @property
    def _natural_params(self):
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x, y):
        return torch.lgamma(x + 1) + (x + 1) * torch.log(-y.reciprocal())
