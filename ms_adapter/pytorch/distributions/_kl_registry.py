"""The registry of Kullback-Leibler divergences, by the classes of both distributions."""

import functools
import warnings

from .distribution import Distribution

_registry = {}  # (class of p, class of q): function


def register_kl(type_p, type_q):
    """Decorates the function that computes ``KL(p || q)`` for these classes and their subclasses."""
    if not isinstance(type_p, type) or not issubclass(type_p, Distribution):
        raise TypeError(f"Expected type_p to be a Distribution subclass but got {type_p}")
    if not isinstance(type_q, type) or not issubclass(type_q, Distribution):
        raise TypeError(f"Expected type_q to be a Distribution subclass but got {type_q}")

    def decorate(function):
        _registry[type_p, type_q] = function
        _dispatch_kl.cache_clear()
        return function

    return decorate


def _nearest(matches, sides):
    """The match whose classes, looked at in this order, are the most derived."""

    def more_derived(a, b):
        for side in sides:
            if a[side] is not b[side]:
                if issubclass(a[side], b[side]):
                    return -1
                if issubclass(b[side], a[side]):
                    return 1
                return 0
        return 0

    return min(matches, key=functools.cmp_to_key(more_derived))


@functools.cache
def _dispatch_kl(type_p, type_q):
    """The function for two classes: of the nearest bases, those of p first; NotImplemented without any."""
    matches = [(p, q) for p, q in _registry if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return NotImplemented
    left, right = _nearest(matches, (0, 1)), _nearest(matches, (1, 0))
    if _registry[left] is not _registry[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). Please "
            f"register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _registry[left]


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of ``q`` from ``p``: the mean under p of ``log p - log q``.

    >>> import ms_adapter.pytorch as torch
    >>> from ms_adapter.pytorch.distributions import Normal, kl_divergence
    >>> kl_divergence(Normal(0.0, 1.0), Normal(1.0, 1.0))
    tensor(0.5000)
    """
    function = _dispatch_kl(type(p), type(q))
    if function is NotImplemented:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}: "
            "register one with register_kl."
        )
    return function(p, q)
