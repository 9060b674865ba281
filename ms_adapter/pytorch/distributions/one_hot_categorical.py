"""One-hot vectors by a categorical distribution."""

import ms_adapter.pytorch as torch

from . import constraints
from ._of_categorical import OfCategorical
from .categorical import Categorical

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OfCategorical):
    """One-hot vectors, the place of the 1 by the probabilities on the last dimension."""

    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        super().__init__(self._categorical.batch_shape, shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = self._get_checked_instance(OneHotCategorical, _instance), torch.Size(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return self._finish_expanding(new, batch_shape, self.event_shape)

    @property
    def mean(self):
        return self._categorical.probs

    @property
    def mode(self):
        return torch.nn.functional.one_hot(self.probs.argmax(dim=-1), self.probs.size(-1)).to(self.probs)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        places = self._categorical.sample(torch.Size(sample_shape))
        return torch.nn.functional.one_hot(places, self._categorical._num_events).to(self.probs)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self.event_shape[0]
        values = torch.eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self.batch_shape) + (n,))
        return values.expand((n,) + self.batch_shape + (n,)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose draws pass gradients straight to the probabilities."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        samples = self.sample(sample_shape)
        return samples + (self.probs - self.probs.detach())
