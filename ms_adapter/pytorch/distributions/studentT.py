"""Student's t-distribution."""

import math

import ms_adapter.pytorch as torch

from . import constraints
from .chi2 import Chi2
from .distribution import Elementwise
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Elementwise):
    """Student's t-distributions of ``df`` degrees of freedom, moved to ``loc`` and stretched by ``scale``."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _params = ("df", "loc", "scale")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(torch.Size(batch_shape))
        return new

    @property
    def mean(self):
        mean = self.loc.clone(memory_format=torch.contiguous_format)
        mean[self.df <= 1] = torch.nan
        return mean

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        variance = self.df.clone(memory_format=torch.contiguous_format)
        finite = self.df > 2
        variance[finite] = self.scale[finite].pow(2) * self.df[finite] / (self.df[finite] - 2)
        variance[(self.df <= 2) & (self.df > 1)] = torch.inf
        variance[self.df <= 1] = torch.nan
        return variance

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        return self.loc + self.scale * noise * torch.rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        away = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch.log1p(away**2.0 / self.df) - normalizer

    def entropy(self):
        half, up = 0.5 * self.df, 0.5 * (self.df + 1)
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(half + 0.5)
        digammas = torch.digamma(up) - torch.digamma(half)
        return self.scale.log() + up * digammas + half.new_tensor(0.5) * self.df.log() + log_beta
