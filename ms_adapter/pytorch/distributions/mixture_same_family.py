"""Mixtures of distributions of one family."""

import ms_adapter.pytorch as torch

from . import constraints
from .categorical import Categorical
from .constraints import MixtureSameFamilyConstraint
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The components are the last batch dimension of ``component_distribution``; a Categorical picks one.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.distributions import Categorical, MixtureSameFamily, Normal
    >>> mixture = MixtureSameFamily(Categorical(torch.ones(2)), Normal(torch.tensor([-1.0, 1.0]), 1.0))
    >>> mixture.mean
    tensor(0.)
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        mixture, component = mixture_distribution, component_distribution
        if not isinstance(mixture, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of torch.distributions.Categorical"
            )
        if not isinstance(component, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        batch = component.batch_shape[:-1]
        for own, other in zip(reversed(mixture.batch_shape), reversed(batch), strict=False):
            if own != 1 and other != 1 and own != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape` ({component.batch_shape})"
                )
        self._num_component = component.batch_shape[-1]
        if mixture.logits.shape[-1] != self._num_component:
            raise ValueError(
                f"`mixture_distribution` component ({mixture._num_events}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({self._num_component})"
            )
        self._mixture_distribution = mixture
        self._component_distribution = component
        self._event_ndims = len(component.event_shape)
        super().__init__(batch, component.event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = self._get_checked_instance(MixtureSameFamily, _instance), torch.Size(batch_shape)
        new._component_distribution = self._component_distribution.expand(
            batch_shape + (self._num_component,)
        )
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component, new._event_ndims = self._num_component, self._event_ndims
        return self._finish_expanding(new, batch_shape, self.event_shape)

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        """The distribution that picks a component."""
        return self._mixture_distribution

    @property
    def component_distribution(self):
        """The components."""
        return self._component_distribution

    def _weights(self):
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    def _average(self, values):
        return torch.sum(self._weights() * values, dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._average(self.component_distribution.mean)

    @property
    def variance(self):
        within = self._average(self.component_distribution.variance)
        mean = self.mean.unsqueeze(-1 - self._event_ndims)
        return within + self._average((self.component_distribution.mean - mean).pow(2.0))

    def _for_each(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def cdf(self, x):
        each = self.component_distribution.cdf(self._for_each(x))
        return torch.sum(each * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        each = self.component_distribution.log_prob(self._for_each(x))
        weights = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(each + weights, dim=-1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            picked = self.mixture_distribution.sample(sample_shape)
            draws = self.component_distribution.sample(sample_shape)
            place = len(torch.Size(sample_shape)) + len(self.batch_shape)
            picked = picked.reshape(picked.shape + (1,) * (self._event_ndims + 1))
            picked = picked.expand(self._extended_shape(sample_shape)[:place] + (1,) + self.event_shape)
            return torch.gather(draws, place, picked).squeeze(place)

    def __repr__(self):
        return f"{type(self).__name__}(\n  {self.mixture_distribution},\n  {self.component_distribution})"
