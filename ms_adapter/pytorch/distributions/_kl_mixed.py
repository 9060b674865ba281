"""Kullback-Leibler divergences between distributions of different families.

Each is minus the entropy of p minus the mean under p of q's log-density; where p has values outside of q's
support it is infinite.
"""

import math

import ms_adapter.pytorch as torch

from ._kl_registry import register_kl
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import EULER, Gumbel
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform

_ON_UNIT_INTERVAL = (Beta, ContinuousBernoulli)
_UNBOUNDED = (Exponential, Gamma, Gumbel, Laplace, Normal)


def _register_all(firsts, seconds):
    def decorate(function):
        for first in firsts:
            for second in seconds:
                if first is not second:
                    register_kl(first, second)(function)
        return function

    return decorate


@_register_all((*_UNBOUNDED, Pareto), (*_ON_UNIT_INTERVAL, Uniform))
@_register_all((Exponential, Gamma, Gumbel, Laplace, Normal, Beta, ContinuousBernoulli), (Pareto,))
@_register_all((Gumbel, Laplace, Normal), (Exponential, Gamma))
@_register_all((Poisson,), (Bernoulli, Binomial))
def _outside(p, q):
    """p has values where q has none."""
    return torch.full_like(p.mean, torch.inf)


def _outside_where(result, *conditions):
    """The result, infinite where any of the conditions holds."""
    for condition in conditions:
        result = torch.where(condition, torch.inf, result)
    return result


# ---- q normal or exponential: the mean and the variance of p say all ---------------------------------
@_register_all((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), (Normal,))
def _onto_normal(p, q):
    log_scale = q.scale.log() + 0.5 * math.log(2 * math.pi)
    spread = (p.variance + (p.mean - q.loc).pow(2)) / (2 * q.scale.pow(2))
    return log_scale + spread - p.entropy()


@_register_all((Beta, ContinuousBernoulli, Gamma, Pareto), (Exponential,))
def _onto_exponential(p, q):
    return q.rate * p.mean - q.rate.log() - p.entropy()


@register_kl(Uniform, Exponential)
def _uniform_onto_exponential(p, q):
    return _outside_where(_onto_exponential(p, q), p.low < q.support.lower_bound)


# ---- q gamma: the mean of the logarithm too ----------------------------------------------------------
def _onto_gamma(p, q, mean_log):
    normalizer = q.concentration.lgamma() - q.concentration * q.rate.log()
    return normalizer + q.rate * p.mean - (q.concentration - 1) * mean_log - p.entropy()


@register_kl(Beta, Gamma)
def _beta_onto_gamma(p, q):
    mean_log = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return _onto_gamma(p, q, mean_log)


@register_kl(Exponential, Gamma)
def _exponential_onto_gamma(p, q):
    return _onto_gamma(p, q, -p.rate.log() - EULER)


@register_kl(Pareto, Gamma)
def _pareto_onto_gamma(p, q):
    return _onto_gamma(p, q, p.scale.log() + p.alpha.reciprocal())


def _mean_log(low, high):
    """The mean of the logarithm of a uniform distribution."""
    return (torch.special.xlogy(high, high) - torch.special.xlogy(low, low)) / (high - low) - 1


@register_kl(Uniform, Gamma)
def _uniform_onto_gamma(p, q):
    result = _onto_gamma(p, q, _mean_log(p.low, p.high))
    return _outside_where(result, p.low < q.support.lower_bound)


# ---- q Gumbel: the mean of exp(-x / scale) -----------------------------------------------------------
def _onto_gumbel(p, q, mean_exp):
    away = (p.mean - q.loc) / q.scale
    return q.scale.log() + away + (q.loc / q.scale).exp() * mean_exp - p.entropy()


@register_kl(Exponential, Gumbel)
def _exponential_onto_gumbel(p, q):
    rate = p.rate * q.scale
    return _onto_gumbel(p, q, rate / (rate + 1))


@register_kl(Gamma, Gumbel)
def _gamma_onto_gumbel(p, q):
    return _onto_gumbel(p, q, (1 + 1 / (p.rate * q.scale)).pow(-p.concentration))


@register_kl(Normal, Gumbel)
def _normal_onto_gumbel(p, q):
    return _onto_gumbel(p, q, torch.exp(0.5 * (p.scale / q.scale).pow(2) - p.loc / q.scale))


@register_kl(Uniform, Gumbel)
def _uniform_onto_gumbel(p, q):
    low, high = torch.exp(-p.low / q.scale), torch.exp(-p.high / q.scale)
    return _onto_gumbel(p, q, q.scale * (low - high) / (p.high - p.low))


# ---- q on an interval --------------------------------------------------------------------------------
@register_kl(Beta, Uniform)
def _beta_onto_uniform(p, q):
    result = (q.high - q.low).log() - p.entropy()
    return _outside_where(result, q.low > p.support.lower_bound, q.high < p.support.upper_bound)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_bernoulli_onto_uniform(p, q):
    result = (q.high - q.low).log() - p.entropy()  # PyTorch takes intervals that just fit for too short
    return _outside_where(result, q.low >= p.support.lower_bound, q.high <= p.support.upper_bound)


@register_kl(Beta, ContinuousBernoulli)
def _beta_onto_continuous_bernoulli(p, q):
    return -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_norm()


@register_kl(Uniform, Beta)
def _uniform_onto_beta(p, q):
    mean_log = _mean_log(p.low, p.high)
    mean_log_rest = _mean_log(1 - p.high, 1 - p.low)
    normalizer = q.concentration1.lgamma() + q.concentration0.lgamma()
    normalizer = normalizer - (q.concentration1 + q.concentration0).lgamma()
    density = (q.concentration1 - 1) * mean_log + (q.concentration0 - 1) * mean_log_rest
    result = normalizer - density - p.entropy()
    return _outside_where(result, p.high > q.support.upper_bound, p.low < q.support.lower_bound)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_onto_continuous_bernoulli(p, q):
    result = -p.entropy() - p.mean * q.logits - torch.log1p(-q.probs) - q._log_norm()
    return _outside_where(result, p.high >= q.support.upper_bound, p.low <= q.support.lower_bound)


@register_kl(Uniform, Pareto)
def _uniform_onto_pareto(p, q):
    mean_log = _mean_log(p.low, p.high)
    result = (1 + q.alpha) * mean_log - q.alpha.log() - q.alpha * q.scale.log() - p.entropy()
    return _outside_where(result, p.low < q.support.lower_bound)


# ---- others ------------------------------------------------------------------------------------------
@register_kl(Bernoulli, Poisson)
def _bernoulli_onto_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Normal, Laplace)
def _normal_onto_laplace(p, q):
    away = p.loc - q.loc
    ratio = away / p.scale
    mean_distance = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * ratio.pow(2))
    mean_distance = mean_distance + away * torch.erf(math.sqrt(0.5) * ratio)
    return (2 * q.scale).log() + mean_distance / q.scale - p.entropy()
