"""The Cauchy distribution."""

import math

import ms_adapter.pytorch as torch

from .distribution import LocationScale

__all__ = ["Cauchy"]


class Cauchy(LocationScale):
    """Cauchy distributions around the median ``loc``, with half of the mass within ``scale``."""

    def _constant(self, value):
        return torch.full(self._extended_shape(), value, dtype=self.loc.dtype, device=self.loc.device)

    @property
    def mean(self):
        return self._constant(math.nan)

    @property
    def variance(self):
        return self._constant(math.inf)

    def rsample(self, sample_shape=()):
        draws = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + draws * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        away = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - away.log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
