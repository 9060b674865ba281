"""The inverse gamma distribution."""

import ms_adapter.pytorch as torch

from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma draws of shape ``concentration`` and inverse scale ``rate``."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args=validate_args)
        exponent = -base.rate.new_ones(())
        super().__init__(base, PowerTransform(exponent), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return super().expand(batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self):
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self):
        """The inverse scale of the gamma distribution."""
        return self.base_dist.rate

    @property
    def mean(self):
        return torch.where(self.concentration > 1, self.rate / (self.concentration - 1), torch.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        square = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return torch.where(self.concentration > 2, square, torch.inf)

    def entropy(self):
        digamma = torch.digamma(self.concentration)
        shape_part = self.concentration + torch.lgamma(self.concentration)
        return shape_part + self.rate.log() - (1 + self.concentration) * digamma
