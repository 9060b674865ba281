"""The Laplace distribution."""

import ms_adapter.pytorch as torch

from .distribution import LocationScale

__all__ = ["Laplace"]


class Laplace(LocationScale):
    """Laplace distributions around ``loc`` of width ``scale``."""

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return (2**0.5) * self.scale

    def rsample(self, sample_shape=()):
        # Draws from (-1, 1): the lower end would give a logarithm of zero
        shape, info = self._extended_shape(sample_shape), torch.finfo(self.loc.dtype)
        u = self.loc.new_empty(shape).uniform_(info.eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        away = value - self.loc
        return 0.5 - 0.5 * away.sign() * torch.expm1(-away.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)
