"""The binomial distribution."""

import ms_adapter.pytorch as torch

from . import constraints
from .distribution import ProbsOrLogits

__all__ = ["Binomial"]


def _positive_part(x):
    """max(x, 0) as a formula whose gradient at 0 is one half."""
    return (x.clamp(min=0) + x - x.clamp(max=0)) / 2


class Binomial(ProbsOrLogits):
    """How many of ``total_count`` trials of success probability ``probs`` succeed."""

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True
    _params = ("total_count",)

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        self._set_probs_or_logits(validate_args, probs, logits, total_count)
        self.total_count = self.total_count.type_as(self._param)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        ways = torch.lgamma(self.total_count + 1)
        ways = ways - torch.lgamma(value + 1) - torch.lgamma(self.total_count - value + 1)
        # log(1 + exp(logits)) without overflow
        softplus = _positive_part(self.logits) + torch.log1p(torch.exp(-torch.abs(self.logits)))
        return value * self.logits - self.total_count * softplus + ways

    def entropy(self):
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `entropy`: give one total_count."
            )
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        total = int(self.total_count.max())
        if not self.total_count.min() == total:
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`: give one total_count."
            )
        values = torch.arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values
