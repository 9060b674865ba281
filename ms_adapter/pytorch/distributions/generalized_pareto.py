"""The generalised Pareto distribution."""

import ms_adapter.pytorch as torch

from . import constraints
from .distribution import Elementwise

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Elementwise):
    """Generalised Pareto distributions from ``loc`` on, of this ``scale`` and tail ``concentration``."""

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True
    _params = ("loc", "scale", "concentration")

    def __init__(self, loc, scale, concentration, validate_args=None):
        self._set_params(validate_args, loc, scale, concentration)

    def _is_exponential(self):
        """Where the tail is so near to an exponential one that the general formula loses digits."""
        return torch.isclose(self.concentration, torch.zeros_like(self.concentration))

    def _safe(self):
        """The concentration, with 1 where it is about 0 and another formula is taken."""
        return torch.where(self._is_exponential(), torch.ones_like(self.concentration), self.concentration)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        low = self.loc
        high = torch.where(self.concentration < 0, low - self.scale / self.concentration, torch.inf)
        return constraints.interval(low, high)

    @property
    def mean(self):
        below = self.concentration < 1
        safe = torch.where(below, self.concentration, 0.5)
        return torch.where(below, self.loc + self.scale / (1 - safe), torch.inf)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        below = self.concentration < 0.5
        safe = torch.where(below, self.concentration, 0.25)
        value = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return torch.where(below, value + torch.zeros_like(self.loc), torch.inf)

    def rsample(self, sample_shape=()):
        u = torch.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype, device=self.loc.device)
        return self.icdf(u)

    def _standard(self, value):
        return (value - self.loc) / self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z, safe = self._standard(value), self._safe()
        log_density = torch.where(self._is_exponential(), -z, -(1 + 1 / safe) * torch.log1p(safe * z))
        return log_density - torch.log(self.scale)

    def log_survival_function(self, value):
        """The logarithm of the probability of values above ``value``."""
        if self._validate_args:
            self._validate_sample(value)
        z, safe = self._standard(value), self._safe()
        return -torch.where(self._is_exponential(), z, torch.log1p(safe * z) / safe)

    def log_cdf(self, value):
        """The logarithm of :meth:`cdf`."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        safe = self._safe()
        exponential = -torch.log1p(-value)
        general = torch.expm1(-safe * torch.log1p(-value)) / safe
        return self.loc + self.scale * torch.where(self._is_exponential(), exponential, general)

    def entropy(self):
        result = torch.log(self.scale) + self.concentration + 1
        return torch.broadcast_to(result, self._batch_shape)
