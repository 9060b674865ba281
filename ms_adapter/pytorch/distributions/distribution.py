"""The base of all distributions, and of those whose parameters broadcast against each other."""

import warnings
from numbers import Number

import ms_adapter.pytorch as torch

from . import constraints
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Distribution"]


class Distribution:
    """Base class: a batch of distributions of shape ``batch_shape`` over values of shape ``event_shape``.

    ``arg_constraints`` and ``support`` say where parameters and values may lie; they are checked unless
    ``validate_args=False``.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions made from now on check parameters and values."""
        if value not in (True, False):
            raise ValueError(f"validate_args must be True or False, got {value!r}.")
        Distribution._validate_args = value

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape = torch.Size(batch_shape)
        self._event_shape = torch.Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._check_arguments()

    def _check_arguments(self):
        try:
            regions = self.arg_constraints
        except NotImplementedError:
            regions = {}
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or "
                "initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
        for name, region in regions.items():
            lazy = isinstance(getattr(type(self), name, None), lazy_property)
            if constraints.is_dependent(region) or (name not in self.__dict__ and lazy):
                continue
            value = getattr(self, name)
            if not region.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of "
                    f"distribution {self!r} to satisfy the constraint {region!r}, but found invalid "
                    f"values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """The same distributions repeated to ``batch_shape``, without copying their parameters."""
        raise NotImplementedError(f"{type(self).__name__} does not define expand().")

    @property
    def batch_shape(self):
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """A dictionary from parameters' names to where they may lie."""
        raise NotImplementedError(f"{type(self).__name__} does not define arg_constraints.")

    @property
    def support(self):
        """Where values lie."""
        raise NotImplementedError(f"{type(self).__name__} does not define support.")

    @property
    def mean(self):
        """The mean of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} does not define mean.")

    @property
    def mode(self):
        """The likeliest value of each distribution."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} does not define variance.")

    @property
    def stddev(self):
        """The standard deviation of each distribution."""
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        """Draw values of shape ``sample_shape + batch_shape + event_shape``, without gradients."""
        with torch.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        """Draw values through which gradients flow to the parameters."""
        raise NotImplementedError(f"{type(self).__name__} has no reparametrised sampling.")

    def sample_n(self, n):
        """Draw ``n`` values."""
        warnings.warn("sample_n(n) will be deprecated. Use .sample((n,)) instead.", UserWarning, stacklevel=2)
        return self.sample((n,))

    def log_prob(self, value):
        """The logarithm of the density, or probability, at ``value``."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_prob().")

    def cdf(self, value):
        """The probability of values up to ``value``."""
        raise NotImplementedError(f"{type(self).__name__} does not define cdf().")

    def icdf(self, value):
        """The inverse of :meth:`cdf`."""
        raise NotImplementedError(f"{type(self).__name__} does not define icdf().")

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution along a new first dimension, for the whole batch or once."""
        raise NotImplementedError(f"{type(self).__name__} does not define enumerate_support().")

    def entropy(self):
        """The entropy of each distribution."""
        raise NotImplementedError(f"{type(self).__name__} does not define entropy().")

    def perplexity(self):
        """The exponential of the entropy."""
        return torch.exp(self.entropy())

    def _extended_shape(self, sample_shape=()):
        return torch.Size(torch.Size(sample_shape) + self._batch_shape + self._event_shape)

    def _validate_sample(self, value):
        """Complain of values of the wrong shape or outside the support."""
        if not isinstance(value, torch.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        events = value.dim() - len(self._event_shape)
        if value.size()[events:] != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.size()} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for i, j in zip(reversed(value.size()), reversed(expected), strict=False):
            if i != 1 and j != 1 and i != j:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.size()} vs {expected}."
                )
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be "
                f"within the support ({support!r}) of the distribution {self!r}, but found invalid "
                f"values:\n{value}"
            )

    def _get_checked_instance(self, cls, _instance=None):
        """The instance to expand into: a new one, unless a subclass with another constructor made its own."""
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _finish_expanding(self, new, batch_shape, event_shape=()):
        Distribution.__init__(new, batch_shape, event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def __repr__(self):
        names = [name for name in self.arg_constraints if name in self.__dict__]
        values = [(name, self.__dict__[name]) for name in names]
        shown = (f"{n}: {v if v.numel() == 1 else v.size()}" for n, v in values)
        return f"{type(self).__name__}({', '.join(shown)})"


class Elementwise(Distribution):
    """Base of distributions over numbers, whose parameters broadcast against each other.

    A subclass names these in ``_params``, in a class that also defines the constructor.
    """

    _params = ()

    def _set_params(self, validate_args, *values, names=None):
        """Take the parameters, in the order of ``_params`` (or ``names``), and check them."""
        if len(values) == 1:
            tensors = broadcast_all(*values) if isinstance(values[0], Number) else values
        else:
            tensors = broadcast_all(*values)
        for name, tensor in zip(names or self._params, tensors, strict=True):
            setattr(self, name, tensor)
        plain = all(isinstance(value, Number) for value in values)
        Distribution.__init__(self, torch.Size() if plain else tensors[0].size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        owner = next(cls for cls in type(self).__mro__ if "_params" in vars(cls))
        new, batch_shape = self._get_checked_instance(owner, _instance), torch.Size(batch_shape)
        for name in self._params:
            setattr(new, name, getattr(self, name).expand(batch_shape))
        return self._finish_expanding(new, batch_shape)


class LocationScale(Elementwise):
    """Base of distributions over the real numbers, symmetric around ``loc`` and of width ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _params = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self._set_params(validate_args, loc, scale)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc


class ProbsOrLogits(Elementwise):
    """Base of distributions given either by probabilities or by log-odds; the other comes when asked for."""

    @lazy_property
    def probs(self):
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @lazy_property
    def logits(self):
        """The log-odds."""
        return probs_to_logits(self.probs, is_binary=True)

    def _set_probs_or_logits(self, validate_args, probs, logits, *others):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        name, given = ("probs", probs) if logits is None else ("logits", logits)
        self._set_params(validate_args, *others, given, names=(*self._params, name))
        self._param = getattr(self, name)

    def _new(self, *args, **kwargs):
        return self._param.new(*args, **kwargs)

    @property
    def param_shape(self):
        """The shape of the probabilities."""
        return self._param.size()

    def expand(self, batch_shape, _instance=None):
        owner = next(cls for cls in type(self).__mro__ if "_params" in vars(cls))
        new, batch_shape = self._get_checked_instance(owner, _instance), torch.Size(batch_shape)
        for name in (*self._params, "probs", "logits"):
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape))
                new._param = getattr(new, name)
        return self._finish_expanding(new, batch_shape)
