"""What distributions share that rest on a Categorical over the last dimension."""

from . import constraints
from .distribution import Distribution


class OfCategorical(Distribution):
    """Base of these: the probabilities are those of ``_categorical``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    @property
    def _param(self):
        return self._categorical._param

    def _new(self, *args, **kwargs):
        return self._categorical._new(*args, **kwargs)

    @property
    def probs(self):
        """The probabilities."""
        return self._categorical.probs

    @property
    def logits(self):
        """The log-probabilities."""
        return self._categorical.logits

    @property
    def param_shape(self):
        """The shape of the probabilities."""
        return self._categorical.param_shape
