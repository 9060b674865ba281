"""Constraints: where the parameters and the values of distributions may lie."""

import ms_adapter.pytorch as torch

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint:
    """A region: ``check`` says of each value whether it is inside.

    The last ``event_dim`` dimensions make up one value; ``is_discrete`` says whether the region is countable.
    """

    is_discrete = False
    event_dim = 0

    def check(self, value):
        """For each value whether it is inside: a tensor without the last ``event_dim`` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not define check().")

    def __repr__(self):
        return f"{type(self).__name__.removeprefix('_')}()"


class _Bounded(Constraint):
    """A constraint shown with its bounds."""

    def __repr__(self):
        bounds = ", ".join(f"{name}={value}" for name, value in vars(self).items())
        return f"{type(self).__name__.removeprefix('_')}({bounds})"


class _Dependent(Constraint):
    """A region that depends on the distribution's parameters."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        self._is_discrete = is_discrete
        self._event_dim = event_dim
        super().__init__()

    def _known(self, name):
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f".{name} cannot be determined statically")
        return value

    @property
    def is_discrete(self):
        """Whether the region is countable, if that is known."""
        return self._known("is_discrete")

    @property
    def event_dim(self):
        """The number of dimensions of a value, if that is known."""
        return self._known("event_dim")

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        given = {"is_discrete": is_discrete, "event_dim": event_dim}
        return _Dependent(
            **{n: getattr(self, "_" + n) if v is NotImplemented else v for n, v in given.items()}
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    """Whether a region depends on the distribution's parameters."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property of a distribution's instances that on the class stands for a dependent region."""

    def __init__(self, fn=None, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        super().__init__(fn)
        self._is_discrete = is_discrete
        self._event_dim = event_dim

    def __call__(self, fn):
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


class _IndependentConstraint(Constraint):
    """A region of values whose last dimensions all lie in another one."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def is_discrete(self):
        """As the other one."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        """That of the other one and the reinterpreted dimensions."""
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value):
        inside = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if inside.dim() < count:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}, for {self!r}.")
        return inside.reshape(inside.shape[: inside.dim() - count] + (-1,)).all(-1)

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """The region of a mixture: that of its components, whose dimension values lack."""

    def __init__(self, base_constraint):
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(f"base_constraint {base_constraint} is not a Constraint.")
        self.base_constraint = base_constraint

    @property
    def is_discrete(self):
        """As the components'."""
        return self.base_constraint.is_discrete

    @property
    def event_dim(self):
        """As the components'."""
        return self.base_constraint.event_dim

    def check(self, value):
        place = -1 - self.event_dim
        inside = self.base_constraint.check(value.unsqueeze(place))
        if value.dim() < self.event_dim:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}.")
        kept = value.dim() - self.event_dim
        return inside.reshape(inside.shape[:kept] + (-1,)).all(-1)

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


# ---- numbers --------------------------------------------------------------------------------------
class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _Real(Constraint):
    def check(self, value):
        return value == value  # not NaN


class _IntegerInterval(_Bounded):
    is_discrete = True

    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    is_discrete = True

    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Bounded):
    def __init__(self, lower_bound):
        self.lower_bound = lower_bound

    def check(self, value):
        return self.lower_bound < value


class _GreaterThanEq(_GreaterThan):
    def check(self, value):
        return self.lower_bound <= value


class _LessThan(_Bounded):
    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Bounded):
    def __init__(self, lower_bound, upper_bound):
        self.lower_bound = lower_bound
        self.upper_bound = upper_bound

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


# ---- vectors --------------------------------------------------------------------------------------
class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & value.sum(-1).eq(1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(dim=-1) & (x.sum(dim=-1) <= self.upper_bound)


# ---- matrices -------------------------------------------------------------------------------------
class _Matrix(Constraint):
    event_dim = 2


class _LowerTriangular(_Matrix):
    def check(self, value):
        return (value.tril() == value).flatten(-2).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value):
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value):
        tolerance = torch.finfo(value.dtype).eps * value.size(-1) * 10
        norms = torch.linalg.norm(value.detach(), dim=-1)
        return super().check(value) & (norms - 1).abs().le(tolerance).all(dim=-1)


class _Square(_Matrix):
    def check(self, value):
        square = value.shape[-2] == value.shape[-1]
        return torch.full(value.shape[:-2], square, dtype=torch.bool, device=value.device)


class _Symmetric(_Square):
    def check(self, value):
        square = super().check(value)
        return torch.isclose(value, value.mT, atol=1e-6).all(-2).all(-1) if square.all() else square


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.eigvalsh(value).ge(0).all(-1) if symmetric.all() else symmetric


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        symmetric = super().check(value)
        return torch.linalg.cholesky_ex(value).info.eq(0) if symmetric.all() else symmetric


# ---- several regions side by side -----------------------------------------------------------------
class _Several(Constraint):
    @property
    def is_discrete(self):
        """Whether any of them is."""
        return any(c.is_discrete for c in self.cseq)

    def _part(self, value, start, length):
        return value.narrow(self.dim, start, length)

    def _check_arguments(self, cseq):
        if not all(isinstance(c, Constraint) for c in cseq):
            raise AssertionError("All elements of cseq must be Constraint instances")


class _Cat(_Several):
    """Regions for consecutive parts of a dimension."""

    def __init__(self, cseq, dim=0, lengths=None):
        self._check_arguments(cseq)
        self.cseq = list(cseq)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(f"{len(self.lengths)} lengths for {len(self.cseq)} constraints.")
        self.dim = dim

    @property
    def event_dim(self):
        """The largest of theirs."""
        return max(c.event_dim for c in self.cseq)

    def check(self, value):
        checks, start = [], 0
        for constraint, length in zip(self.cseq, self.lengths, strict=True):
            checks.append(constraint.check(self._part(value, start, length)))
            start += length
        return torch.cat(checks, self.dim)


class _Stack(_Several):
    """Regions for the places of a dimension."""

    def __init__(self, cseq, dim=0):
        self._check_arguments(cseq)
        self.cseq = list(cseq)
        self.dim = dim

    @property
    def event_dim(self):
        """The largest of theirs, with the dimension itself if it is among a value's."""
        largest = max(c.event_dim for c in self.cseq)
        return largest + 1 if self.dim + largest < 0 else largest

    def check(self, value):
        parts = (value.select(self.dim, i) for i in range(value.size(self.dim)))
        return torch.stack([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


dependent = _Dependent()
dependent_property = _DependentProperty
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack
