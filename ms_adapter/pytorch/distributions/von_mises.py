"""The von Mises distribution of angles."""

import math

import ms_adapter.pytorch as torch

from . import constraints
from .distribution import Elementwise
from .utils import lazy_property

__all__ = ["VonMises"]


class VonMises(Elementwise):
    """Angles in radians around ``loc``, the nearer the larger ``concentration``."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False
    _params = ("loc", "concentration")

    def __init__(self, loc, concentration, validate_args=None):
        self._set_params(validate_args, loc, concentration)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        # log I0(k) is log of the scaled Bessel function plus k
        scaled = torch.special.i0e(self.concentration).log()
        away = torch.cos(value - self.loc) - 1
        return self.concentration * away - math.log(2 * math.pi) - scaled

    @lazy_property
    def _proposal_r(self):
        """The parameter of the wrapped Cauchy distribution that draws are proposed from (Best and Fisher)."""
        kappa = self.concentration.double()
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        return torch.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    @torch.no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        x = torch.empty(shape, dtype=torch.double, device=self.loc.device)
        loc, kappa = self.loc.double(), self.concentration.double()
        r, done = self._proposal_r, torch.zeros(shape, dtype=torch.bool, device=self.loc.device)
        while not done.all():
            u1, u2, u3 = torch.rand((3, *shape), dtype=torch.double, device=self.loc.device).unbind()
            z = torch.cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = kappa * (r - f)
            accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - torch.special.i1e(self.concentration) / torch.special.i0e(self.concentration)
