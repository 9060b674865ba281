"""The Wishart distribution of positive definite matrices."""

import math
import warnings
from numbers import Number

import ms_adapter.pytorch as torch

from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .multivariate_normal import OfCovariance, _precision_to_scale_tril

__all__ = ["Wishart"]

_MATRICES = ("scale_tril", "covariance_matrix", "precision_matrix")


def _mvdigamma(x, p):
    """The derivative of the logarithm of the multivariate gamma function."""
    steps = torch.arange(p, dtype=x.dtype, device=x.device)
    return torch.digamma(x.unsqueeze(-1) - steps.div(2).expand(x.shape + (-1,))).sum(-1)


class Wishart(OfCovariance, ExponentialFamily):
    """Sums of ``df`` outer products of normal vectors with themselves.

    The normal vectors' covariance is given, or its inverse, or its Cholesky factor.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self.event_shape[-1] - 1),
        }

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        given = {
            name: matrix
            for name, matrix in zip(_MATRICES, (scale_tril, covariance_matrix, precision_matrix), strict=True)
            if matrix is not None
        }
        if len(given) != 1:
            raise AssertionError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        if isinstance(df, Number):
            batch_shape = torch.Size(matrix.shape[:-2])
            self.df = torch.tensor(df, dtype=matrix.dtype, device=matrix.device)
        else:
            batch_shape = torch.broadcast_shapes(matrix.shape[:-2], df.shape)
            self.df = df.expand(batch_shape)
        event_shape = matrix.shape[-2:]
        if self.df.le(event_shape[-1] - 1).any():
            raise ValueError(
                f"Value of df={df} expected to be greater than ndim - 1 = {event_shape[-1] - 1}."
            )
        setattr(self, name, matrix.expand(batch_shape + (-1, -1)))
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if self.df.lt(event_shape[-1]).any():
            warnings.warn(
                "Low df values detected. Singular samples are highly likely to occur for "
                "ndim - 1 < df < ndim.",
                stacklevel=2,
            )
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = scale_tril
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch.linalg.cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(precision_matrix)
        self._dist_chi2 = self._chi2_of(self.df)

    def _chi2_of(self, df):
        size = self._event_shape[-1]
        steps = torch.arange(size, dtype=df.dtype, device=df.device)
        return Chi2(df.unsqueeze(-1) - steps.expand(tuple(df.shape) + (-1,)))

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = self._get_checked_instance(Wishart, _instance), torch.Size(batch_shape)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril.expand(batch_shape + self.event_shape)
        new.df = self.df.expand(batch_shape)
        new._batch_shape, new._event_shape = batch_shape, self.event_shape
        for name in _MATRICES:
            if name in self.__dict__:
                setattr(new, name, getattr(self, name).expand(batch_shape + self.event_shape))
        new._dist_chi2 = new._chi2_of(new.df)
        return self._finish_expanding(new, batch_shape, self.event_shape)

    @property
    def mean(self):
        return self.df.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def mode(self):
        factor = (self.df - self.covariance_matrix.shape[-1] - 1).clone()
        factor[factor <= 0] = torch.nan
        return factor.view(self._batch_shape + (1, 1)) * self.covariance_matrix

    @property
    def variance(self):
        covariance = self.covariance_matrix
        diagonal = covariance.diagonal(dim1=-2, dim2=-1)
        outer = diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2)
        return self.df.view(self._batch_shape + (1, 1)) * (covariance.pow(2) + outer)

    def _bartlett_sampling(self, sample_shape):
        """By Bartlett's decomposition: a triangular matrix of chi and normal draws."""
        size = self._event_shape[-1]
        noise = self._dist_chi2.rsample(sample_shape).sqrt().diag_embed(dim1=-2, dim2=-1)
        rows, cols = torch.tril_indices(size, size, offset=-1)
        shape = torch.Size(sample_shape) + self._batch_shape + (int(size * (size - 1) / 2),)
        noise[..., rows, cols] = torch.randn(shape, dtype=noise.dtype, device=noise.device)
        factor = self._unbroadcasted_scale_tril @ noise
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=None):
        """Draw matrices; those that rounding made singular are drawn again, a few times."""
        if max_try_correction is None:
            max_try_correction = 3 if self._event_shape[-1] > 8 else 10
        sample_shape = torch.Size(sample_shape)
        sample = self._bartlett_sampling(sample_shape)
        singular = ~self.support.check(sample)
        for _ in range(max_try_correction):
            if not singular.any():
                return sample
            again = self._bartlett_sampling(sample_shape)
            sample = torch.where(singular[..., None, None], again, sample)
            singular = singular & ~self.support.check(again)
        if singular.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
        return sample

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, size = self.df, self._event_shape[-1]
        normalizer = nu * (size * math.log(2) / 2 + self._half_log_det()) + torch.mvlgamma(nu / 2, size)
        trace = torch.cholesky_solve(value, self._unbroadcasted_scale_tril)
        trace = trace.diagonal(dim1=-2, dim2=-1).sum(-1)
        return (nu - size - 1) / 2 * torch.linalg.slogdet(value).logabsdet - trace / 2 - normalizer

    def entropy(self):
        nu, size = self.df, self._event_shape[-1]
        return (
            (size + 1) * (size * math.log(2) / 2 + self._half_log_det())
            + torch.mvlgamma(nu / 2, size)
            - (nu - size - 1) / 2 * _mvdigamma(nu / 2, size)
            + nu * size / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        size = self._event_shape[-1]
        return (y + (size + 1) / 2) * (
            -torch.linalg.slogdet(-2 * x).logabsdet + math.log(2) * size
        ) + torch.mvlgamma(y + (size + 1) / 2, size)
