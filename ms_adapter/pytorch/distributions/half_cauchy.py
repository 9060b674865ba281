"""The half-Cauchy distribution."""

import math

import ms_adapter.pytorch as torch

from ._half import Half
from .cauchy import Cauchy

__all__ = ["HalfCauchy"]


class HalfCauchy(Half):
    """The sizes of Cauchy draws around 0 of width ``scale``."""

    _whole = Cauchy

    @property
    def mean(self):
        return torch.full_like(self.scale, math.inf)

    @property
    def variance(self):
        return self.base_dist.variance
