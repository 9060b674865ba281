"""Multivariate normal distributions whose covariance is diagonal plus a matrix of low rank."""

import math

import ms_adapter.pytorch as torch

from . import constraints
from .distribution import Distribution
from .multivariate_normal import _batch_mahalanobis, _batch_mv
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(factor, diagonal):
    """The Cholesky factor of ``I + W^T D^-1 W``, from which the determinant and inverses follow."""
    weighted = factor.mT / diagonal.unsqueeze(-2)
    inner = torch.matmul(weighted, factor)
    identity = torch.eye(factor.size(-1), dtype=factor.dtype, device=factor.device)
    return torch.linalg.cholesky(inner + identity)


def _log_det(diagonal, capacitance_tril):
    """The logarithm of the covariance's determinant, by the matrix determinant lemma."""
    return 2 * capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1) + diagonal.log().sum(-1)


def _low_rank_mahalanobis(factor, diagonal, x, capacitance_tril):
    """The squared distance of ``x`` by the covariance, by the Woodbury identity."""
    weighted = factor.mT / diagonal.unsqueeze(-2)
    plain = (x.pow(2) / diagonal).sum(-1)
    return plain - _batch_mahalanobis(capacitance_tril, _batch_mv(weighted, x))


class LowRankMultivariateNormal(Distribution):
    """Normal vectors of mean ``loc`` and covariance ``cov_factor @ cov_factor.T + diag(cov_diag)``."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m")
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        batch_shape = torch.broadcast_shapes(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand(batch_shape + event_shape)
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        self.cov_diag = cov_diag.expand(batch_shape + event_shape)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        batch_shape = torch.Size(batch_shape)
        new.loc = self.loc.expand(batch_shape + self.event_shape)
        new.cov_diag = self.cov_diag.expand(batch_shape + self.event_shape)
        new.cov_factor = self.cov_factor.expand(batch_shape + self.cov_factor.shape[-2:])
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        return self._finish_expanding(new, batch_shape, self.event_shape)

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    def _broadcast(self, matrix):
        return matrix.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def variance(self):
        variance = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return variance.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """The Cholesky factor of the covariance, through that of the covariance divided by its diagonal."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        identity = torch.eye(self._event_shape[0], dtype=scaled.dtype, device=scaled.device)
        return self._broadcast(root * torch.linalg.cholesky(torch.matmul(scaled, scaled.mT) + identity))

    @lazy_property
    def covariance_matrix(self):
        """The covariance."""
        factor = self._unbroadcasted_cov_factor
        return self._broadcast(factor @ factor.mT + torch.diag_embed(self._unbroadcasted_cov_diag))

    @lazy_property
    def precision_matrix(self):
        """The inverse of the covariance, by the Woodbury identity."""
        weighted = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = torch.linalg.solve_triangular(self._capacitance_tril, weighted, upper=False)
        inverse = torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal())
        return self._broadcast(inverse - solved.mT @ solved)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        rank_shape = shape[:-1] + self.cov_factor.shape[-1:]
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        shared, own = _standard_normal(rank_shape, **options), _standard_normal(shape, **options)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, shared)
            + self._unbroadcasted_cov_diag.sqrt() * own
        )

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        covariance = (self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag)
        distance = _low_rank_mahalanobis(*covariance, value - self.loc, self._capacitance_tril)
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + log_det + distance)

    def entropy(self):
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return result if len(self._batch_shape) == 0 else result.expand(self._batch_shape)
