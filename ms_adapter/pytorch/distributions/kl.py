"""Kullback-Leibler divergences between distributions of one family; ``_kl_mixed`` has those of two."""

import ms_adapter.pytorch as torch

from ._kl_registry import kl_divergence, register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import EULER, Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _log_det, _low_rank_mahalanobis
from .multivariate_normal import MultivariateNormal, _batch_mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost

__all__ = ["kl_divergence", "register_kl"]


def _trace_of_square(matrix):
    """The trace of ``matrix @ matrix.T`` for each of a batch."""
    return matrix.pow(2).sum((-2, -1))


# ---- numbers --------------------------------------------------------------------------------------
@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    softplus = torch.nn.functional.softplus
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    one[q.probs == 0] = torch.inf
    one[p.probs == 0] = 0
    zero = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    zero[q.probs == 1] = torch.inf
    zero[p.probs == 1] = 0
    return one + zero


@register_kl(Beta, Beta)
def _beta(p, q):
    p_sum, q_sum = p.concentration1 + p.concentration0, q.concentration1 + q.concentration0
    normalizers = q.concentration1.lgamma() + q.concentration0.lgamma() + p_sum.lgamma()
    normalizers = normalizers - (p.concentration1.lgamma() + p.concentration0.lgamma() + q_sum.lgamma())
    first = (p.concentration1 - q.concentration1) * torch.digamma(p.concentration1)
    second = (p.concentration0 - q.concentration0) * torch.digamma(p.concentration0)
    return normalizers + first + second + (q_sum - p_sum) * torch.digamma(p_sum)


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    larger = p.total_count > q.total_count
    kl[larger] = torch.inf
    return kl


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    terms = p.probs * (p.logits - q.logits)
    terms[(q.probs == 0).expand_as(terms)] = torch.inf
    terms[(p.probs == 0).expand_as(terms)] = 0
    return terms.sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p, q):
    slope = p.mean * (p.logits - q.logits)
    return slope + p._log_norm() + torch.log1p(-p.probs) - q._log_norm() - torch.log1p(-q.probs)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    p_sum = p.concentration.sum(-1)
    normalizers = p_sum.lgamma() - q.concentration.sum(-1).lgamma()
    terms = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    logs = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return normalizers - terms + ((p.concentration - q.concentration) * logs).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p, q):
    """By the Bregman divergence of the log-normaliser, for two of the same class."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using "
            "Bregman divergences"
        )
    natural, normalizer, gradients = p._log_normalizer_gradients()
    result = q._log_normalizer(*q._natural_params) - normalizer
    for other, own, gradient in zip(q._natural_params, natural, gradients, strict=True):
        result = result - _sum_rightmost((other - own) * gradient, len(q.event_shape))
    return result


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    rates = q.concentration * (p.rate / q.rate).log()
    normalizers = torch.lgamma(q.concentration) - torch.lgamma(p.concentration)
    logs = (p.concentration - q.concentration) * torch.digamma(p.concentration)
    return rates + normalizers + logs + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio = p.scale / q.scale
    p_place, q_place = p.loc / q.scale, q.loc / q.scale
    tail = torch.exp(q_place + (1 + ratio).lgamma() - p_place)
    return -ratio.log() - q_place + p_place + ratio * EULER + tail - (1 + EULER)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - torch.log1p(-q.probs) / p.probs - q.logits


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * torch.exp(-away / p.scale) - 1


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    away = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + away - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    scales, ratio = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * scales.log() - ratio.log() + ratio - 1
    result[p.support.lower_bound < q.support.lower_bound] = torch.inf
    return result


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    result[(q.low > p.low) | (q.high < p.high)] = torch.inf
    return result


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    together = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return together - (4 * p.scale * q.scale).log()


# ---- vectors --------------------------------------------------------------------------------------
def _check_lengths(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            f"KL-divergence between {type(p).__name__} and {type(q).__name__} with different event shapes "
            f"cannot be computed: {p.event_shape} and {q.event_shape}."
        )


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    _check_lengths(p, q)
    n = p.event_shape[0]
    shape = torch.broadcast_shapes(
        p._unbroadcasted_scale_tril.shape[:-2], q._unbroadcasted_scale_tril.shape[:-2]
    )
    p_tril = p._unbroadcasted_scale_tril.expand(shape + (n, n))
    q_tril = q._unbroadcasted_scale_tril.expand(shape + (n, n))
    trace = _trace_of_square(torch.linalg.solve_triangular(q_tril, p_tril, upper=False))
    distance = _batch_mahalanobis(q._unbroadcasted_scale_tril, q.loc - p.loc)
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
def _low_rank(p, q):
    _check_lengths(p, q)
    return _onto_low_rank(p, q, _low_rank_log_det(p), _low_rank_root_parts(p))


@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _full_onto_low_rank(p, q):
    _check_lengths(p, q)
    return _onto_low_rank(p, q, 2 * p._half_log_det(), [p._unbroadcasted_scale_tril])


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank_onto_full(p, q):
    _check_lengths(p, q)
    n = p.event_shape[0]
    q_tril, parts = q._unbroadcasted_scale_tril, _low_rank_root_parts(p)
    shape = torch.broadcast_shapes(q_tril.shape[:-2], parts[0].shape[:-2], parts[1].shape[:-2])
    trace = 0
    for part in parts:
        part = part.expand(shape + part.shape[-2:])
        solved = torch.linalg.solve_triangular(q_tril.expand(shape + (n, n)), part, upper=False)
        trace = trace + _trace_of_square(solved)
    distance = _batch_mahalanobis(q_tril, q.loc - p.loc)
    return 0.5 * (2 * q._half_log_det() - _low_rank_log_det(p) + trace + distance - n)


def _low_rank_log_det(p):
    return _log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)


def _low_rank_root_parts(p):
    """Matrices whose products with their transposes add up to the covariance."""
    return [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]


def _onto_low_rank(p, q, p_log_det, p_parts):
    """The divergence of a low-rank ``q`` from a ``p`` whose covariance is the sum of squares of parts."""
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    distance = _low_rank_mahalanobis(factor, diagonal, q.loc - p.loc, q._capacitance_tril)
    weighted = factor.mT / diagonal.unsqueeze(-2)
    solved = torch.linalg.solve_triangular(q._capacitance_tril, weighted, upper=False)
    trace = 0
    for part in p_parts:  # the trace of q's inverse covariance times the part's square
        trace = trace + _trace_of_square(part * diagonal.rsqrt().unsqueeze(-1))
        trace = trace - _trace_of_square(solved @ part)
    return 0.5 * (_low_rank_log_det(q) - p_log_det + trace + distance - p.event_shape[0])


# ---- distributions made of others -----------------------------------------------------------------
@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p, q):
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError(
            "KL between TransformedDistributions needs the same transforms and event shapes."
        )
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError(
            "KL between Independents needs the same number of reinterpreted dimensions."
        )
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


from . import _kl_mixed  # noqa: E402, F401 - registers those of two families
