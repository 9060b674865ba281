"""From constraints to transforms of free vectors onto them."""

import numbers

from . import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A mapping from constraints to transforms; calling it with a constraint gives the transform.

    >>> from ms_adapter.pytorch.distributions import constraints
    >>> biject_to(constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Register a function of constraints of this class; without it a decorator."""
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(
                f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}"
            )
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        if type(constraint) not in self._registry:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints: register a factory for them."
            )
        return self._registry[type(constraint)](constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()
_both = (biject_to, transform_to)


def _register(registries, *kinds):
    def decorate(factory):
        for registry in registries:
            for kind in kinds:
                registry.register(kind, factory)
        return factory

    return decorate


@_register(_both, constraints.real)
def _to_real(constraint):
    return transforms.identity_transform


def _independent_in(registry):
    def to_independent(constraint):
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    return to_independent


for _registry in _both:
    _registry.register(constraints.independent, _independent_in(_registry))


@_register(_both, constraints.greater_than, constraints.greater_than_eq)
def _to_greater_than(constraint):
    steps = [transforms.ExpTransform(), transforms.AffineTransform(constraint.lower_bound, 1)]
    return transforms.ComposeTransform(steps)


@_register(_both, constraints.less_than)
def _to_less_than(constraint):
    steps = [transforms.ExpTransform(), transforms.AffineTransform(constraint.upper_bound, -1)]
    return transforms.ComposeTransform(steps)


@_register(_both, constraints.interval, constraints.half_open_interval)
def _to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    numbers_both = isinstance(low, numbers.Number) and isinstance(high, numbers.Number)
    if numbers_both and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    steps = [transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)]
    return transforms.ComposeTransform(steps)


@_register([biject_to], constraints.simplex)
def _biject_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@_register([transform_to], constraints.simplex)
def _transform_to_simplex(constraint):
    return transforms.SoftmaxTransform()


@_register([transform_to], constraints.lower_cholesky)
def _to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@_register([transform_to], constraints.positive_definite, constraints.positive_semidefinite)
def _to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


@_register(_both, constraints.corr_cholesky)
def _to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


def _several_in(registry):
    def to_cat(constraint):
        parts = [registry(c) for c in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    def to_stack(constraint):
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)

    registry.register(constraints.cat, to_cat)
    registry.register(constraints.stack, to_stack)


for _registry in _both:
    _several_in(_registry)
