"""Exponential families: entropies and divergences from the gradient of the log-normaliser."""

import ms_adapter.pytorch as torch

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """Base of distributions of density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives the natural parameters theta, F as ``_log_normalizer`` and the mean of k.
    """

    _mean_carrier_measure = NotImplemented

    @property
    def _natural_params(self):
        raise NotImplementedError(f"{type(self).__name__} does not define its natural parameters.")

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError(f"{type(self).__name__} does not define its log-normaliser.")

    def _log_normalizer_gradients(self):
        """(natural parameters, log-normaliser, its gradients by them), all with a graph."""
        natural = [param.detach().requires_grad_() for param in self._natural_params]
        with torch.enable_grad():
            normalizer = self._log_normalizer(*natural)
            return natural, normalizer, torch.autograd.grad(normalizer.sum(), natural, create_graph=True)

    def entropy(self):
        """The entropy of each distribution, as a Bregman divergence."""
        if self._mean_carrier_measure is NotImplemented:
            raise NotImplementedError(f"{type(self).__name__} has no closed form of its entropy.")
        natural, result, gradients = self._log_normalizer_gradients()
        result = result - self._mean_carrier_measure
        for param, gradient in zip(natural, gradients, strict=True):
            result = result - (param * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
