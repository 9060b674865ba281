"""The negative binomial distribution."""

import ms_adapter.pytorch as torch

from . import constraints
from .distribution import ProbsOrLogits
from .gamma import Gamma
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits):
    """How many trials of success probability ``probs`` succeed before ``total_count`` fail."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _params = ("total_count",)

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        self._set_probs_or_logits(validate_args, probs, logits, total_count)
        self.total_count = self.total_count.type_as(self._param)

    @property
    def mean(self):
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / torch.sigmoid(-self.logits)

    @lazy_property
    def _gamma(self):
        return Gamma(self.total_count, torch.exp(-self.logits), validate_args=False)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        log_sigmoid = torch.nn.functional.logsigmoid
        unnormalized = self.total_count * log_sigmoid(-self.logits) + value * log_sigmoid(self.logits)
        ways = torch.lgamma(self.total_count + value)
        ways = -ways + torch.lgamma(1.0 + value) + torch.lgamma(self.total_count)
        both_zero = self.total_count + value == 0.0
        return unnormalized - ways.masked_fill(both_zero, 0.0)
