"""Transforms and constraints of distributions: values, inverses, Jacobians, regions as PyTorch's."""

import pytest

X = [[-1.5, 0.2, 0.7], [0.1, -0.3, 2.0]]


def tensor(t, values=X):
    return t.tensor(values, dtype=t.float64)


TRANSFORMS = {
    "exp": lambda t, d: d.ExpTransform(),
    "power": lambda t, d: d.ComposeTransform(
        [d.ExpTransform(), d.PowerTransform(tensor(t, [2.0, -0.5, 1.0]))]
    ),
    "sigmoid": lambda t, d: d.SigmoidTransform(),
    "softplus": lambda t, d: d.SoftplusTransform(),
    "tanh": lambda t, d: d.TanhTransform(),
    "abs": lambda t, d: d.AbsTransform(),
    "affine": lambda t, d: d.AffineTransform(1.0, tensor(t, [2.0, -0.5, 1.0])),
    "affine number": lambda t, d: d.AffineTransform(tensor(t, [2.0, -0.5, 1.0]), -3),
    "affine vector": lambda t, d: d.AffineTransform(0.5, tensor(t, [2.0, -0.5, 1.0]), event_dim=1),
    "inverse": lambda t, d: d.SigmoidTransform().inv.inv,
    "compose": lambda t, d: d.ComposeTransform([d.TanhTransform(), d.AffineTransform(0.0, 2.0)]),
    "compose vectors": lambda t, d: d.ComposeTransform(
        [d.AffineTransform(0.0, 2.0), d.StickBreakingTransform()]
    ),
    "nothing": lambda t, d: d.identity_transform,
    "independent": lambda t, d: d.IndependentTransform(d.ExpTransform(), 1),
    "reshape": lambda t, d: d.ReshapeTransform((2, 3), (6,)),
    "softmax": lambda t, d: d.SoftmaxTransform(),
    "stick breaking": lambda t, d: d.StickBreakingTransform(),
    "cat": lambda t, d: d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=1, lengths=[1, 2]),
    "cat last": lambda t, d: d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], dim=-1, lengths=[2, 1]),
    "stack": lambda t, d: d.StackTransform([d.ExpTransform(), d.SigmoidTransform()], dim=0),
    "cumulative": lambda t, d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)),
    "correlation": lambda t, d: d.CorrCholeskyTransform(),
    "cached": lambda t, d: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)], cache_size=1),
}


def attempt(action):
    try:
        value = action()
    except (NotImplementedError, ValueError, AttributeError) as err:
        return type(err).__name__
    return value.tolist() if hasattr(value, "tolist") else value


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_transforms(nearly, name):
    def scenario(t):
        made, x = TRANSFORMS[name](t, t.distributions), tensor(t).requires_grad_()
        y = made(x)
        trace = [y.tolist(), attempt(lambda: made.inv(y)), attempt(lambda: made.log_abs_det_jacobian(x, y))]
        trace += [repr(made), repr(made.inv), made.bijective, attempt(lambda: made.sign)]
        trace += [attempt(lambda: repr(made.domain)), attempt(lambda: repr(made.codomain))]
        trace += [attempt(lambda: tuple(made.forward_shape(x.shape)))]
        trace += [attempt(lambda: tuple(made.inverse_shape(y.shape))), attempt(lambda: made.event_dim)]
        trace.append(attempt(lambda: made.codomain.check(y)))
        y.sin().sum().backward()
        return [*trace, x.grad.tolist()]

    nearly(scenario)


@pytest.mark.parametrize("name", ["lower cholesky", "positive definite"])
def test_matrix_transforms(nearly, name):
    def scenario(t):
        d = t.distributions
        made = d.LowerCholeskyTransform() if name == "lower cholesky" else d.PositiveDefiniteTransform()
        x = tensor(t, [[0.3, -1.0], [0.7, 0.2]])
        y = made(x)
        return y.tolist(), made.inv(y).tolist(), made.codomain.check(y).tolist(), repr(made)

    nearly(scenario)


def test_equality_and_caches(both):
    def scenario(t):
        d = t.distributions
        pairs = [
            (d.ExpTransform(), d.ExpTransform()),
            (d.ExpTransform(), d.SigmoidTransform()),
            (d.ExpTransform().inv, d.ExpTransform().inv),
            (d.AffineTransform(0.0, 1.0), d.AffineTransform(0.0, 1.0)),
            (d.AffineTransform(0.0, 1.0), d.AffineTransform(t.zeros(2), 2.0)),
            (d.PowerTransform(2.0), d.PowerTransform(t.tensor(2.0))),
            (d.ComposeTransform([d.ExpTransform()]), d.ComposeTransform([d.ExpTransform()])),
            (d.SoftmaxTransform(), d.SoftmaxTransform()),
        ]
        cached, x = d.ExpTransform(cache_size=1), tensor(t)
        y = cached(x)
        kept = (cached(x) is y, cached.inv(y) is x, d.ExpTransform().with_cache()._cache_size)
        with pytest.raises(ValueError):
            d.ExpTransform(cache_size=2)
        return [bool(a == b) for a, b in pairs], kept

    both(scenario)


CONSTRAINTS = {
    "boolean": lambda t, c: c.boolean,
    "one_hot": lambda t, c: c.one_hot,
    "nonnegative_integer": lambda t, c: c.nonnegative_integer,
    "positive_integer": lambda t, c: c.positive_integer,
    "integer_interval": lambda t, c: c.integer_interval(0, 1),
    "real": lambda t, c: c.real,
    "real_vector": lambda t, c: c.real_vector,
    "positive": lambda t, c: c.positive,
    "nonnegative": lambda t, c: c.nonnegative,
    "greater_than": lambda t, c: c.greater_than(0.5),
    "greater_than_eq": lambda t, c: c.greater_than_eq(1.0),
    "less_than": lambda t, c: c.less_than(0.5),
    "multinomial": lambda t, c: c.multinomial(2),
    "unit_interval": lambda t, c: c.unit_interval,
    "interval": lambda t, c: c.interval(-1.0, 2.0),
    "half_open_interval": lambda t, c: c.half_open_interval(0.0, 1.0),
    "simplex": lambda t, c: c.simplex,
    "lower_triangular": lambda t, c: c.lower_triangular,
    "lower_cholesky": lambda t, c: c.lower_cholesky,
    "corr_cholesky": lambda t, c: c.corr_cholesky,
    "square": lambda t, c: c.square,
    "symmetric": lambda t, c: c.symmetric,
    "positive_semidefinite": lambda t, c: c.positive_semidefinite,
    "positive_definite": lambda t, c: c.positive_definite,
    "independent": lambda t, c: c.independent(c.positive, 1),
    "cat": lambda t, c: c.cat([c.positive, c.real], dim=0, lengths=[1, 1]),
    "stack": lambda t, c: c.stack([c.positive, c.unit_interval], dim=-1),
    "mixture": lambda t, c: c.MixtureSameFamilyConstraint(c.positive),
    "dependent": lambda t, c: c.dependent,
}
VALUES = [
    [[1.0, 0.0], [0.0, 1.0]],
    [[1.0, 0.0], [0.5, -2.0]],
    [[0.25, 0.75], [float("nan"), 0.5]],
    [[2.0, 1.0], [1.0, 3.0]],
    [[1.0, 0.0], [0.6, 0.8]],
]


@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_constraints(both, name):
    def scenario(t):
        region = CONSTRAINTS[name](t, t.distributions.constraints)
        trace = [repr(region), attempt(lambda: region.event_dim), attempt(lambda: region.is_discrete)]
        trace.append(t.distributions.constraints.is_dependent(region))
        return [*trace, *(attempt(lambda v=v: region.check(tensor(t, v))) for v in VALUES)]

    both(scenario)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
@pytest.mark.parametrize("name", list(CONSTRAINTS))
def test_registries(nearly, name, registry):
    def scenario(t):
        d = t.distributions
        region = CONSTRAINTS[name](t, d.constraints)
        made = attempt(lambda: getattr(d, registry)(region))
        if isinstance(made, str):
            return made
        y = attempt(lambda: made(tensor(t, [[0.3, -1.0], [0.7, 0.2]])))
        return repr(made), y, None if isinstance(y, str) else region.check(tensor(t, y)).tolist()

    nearly(scenario)
