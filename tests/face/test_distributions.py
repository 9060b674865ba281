"""torch.distributions: densities, moments, streams, supports, divergences of all families as PyTorch's."""

import copy
import io
import itertools
import pickle

import pytest
import torch

import ms_adapter.pytorch as face

D = torch.float64


LEAVES = []  # the parameters made last
recording = False


def v(t, *values):
    made = t.tensor(values, dtype=t.float64, requires_grad=recording)
    LEAVES.append(made)
    return made


def make_recording(t, name, number):
    """A distribution and its parameters, which record gradients."""
    global recording
    LEAVES.clear()
    recording = True
    try:
        return make(t, name, number), list(LEAVES)
    finally:
        recording = False


def positive_definite(t):
    return t.tensor([[2.0, 0.3, 0.1], [0.3, 1.5, -0.2], [0.1, -0.2, 1.0]], dtype=t.float64)


# name: what makes it from (torch, distributions), one entry for each set of parameters
FAMILIES = {
    "Bernoulli": [lambda t, d: d.Bernoulli(v(t, 0.2, 0.7)), lambda t, d: d.Bernoulli(logits=v(t, -1.0, 0.4))],
    "Beta": [lambda t, d: d.Beta(v(t, 0.5, 2.0), v(t, 3.0, 0.7)), lambda t, d: d.Beta(2.0, 3.0)],
    "Binomial": [lambda t, d: d.Binomial(5, v(t, 0.2, 0.7)), lambda t, d: d.Binomial(3, logits=v(t, 0.2))],
    "Categorical": [
        lambda t, d: d.Categorical(v(t, 0.2, 0.5, 0.3)),
        lambda t, d: d.Categorical(logits=t.stack([v(t, 1.0, -1.0), v(t, 0.0, 2.0)])),
    ],
    "Cauchy": [lambda t, d: d.Cauchy(v(t, 0.0, 1.0), v(t, 1.0, 2.0))],
    "Chi2": [lambda t, d: d.Chi2(v(t, 1.0, 4.5))],
    "ContinuousBernoulli": [
        lambda t, d: d.ContinuousBernoulli(v(t, 0.2, 0.5, 0.7)),
        lambda t, d: d.ContinuousBernoulli(logits=v(t, -1.0, 0.0)),
    ],
    "Dirichlet": [lambda t, d: d.Dirichlet(v(t, 0.5, 2.0, 3.0)), lambda t, d: d.Dirichlet(v(t, 0.5, 0.2))],
    "Exponential": [lambda t, d: d.Exponential(v(t, 0.5, 2.0)), lambda t, d: d.Exponential(3.0)],
    "FisherSnedecor": [lambda t, d: d.FisherSnedecor(v(t, 3.0, 1.0), v(t, 5.0, 3.0))],
    "Gamma": [lambda t, d: d.Gamma(v(t, 0.5, 2.0), v(t, 1.0, 3.0))],
    "GeneralizedPareto": [
        lambda t, d: d.GeneralizedPareto(
            *(v(t, *p).float() for p in ((0.0, 1.0, 0.0), (1.0, 2.0, 0.5), (0.3, -0.4, 0.0)))
        )
    ],
    "Geometric": [lambda t, d: d.Geometric(v(t, 0.2, 0.7)), lambda t, d: d.Geometric(logits=v(t, 0.3))],
    "Gumbel": [lambda t, d: d.Gumbel(v(t, 0.0, 1.0), v(t, 1.0, 2.0)), lambda t, d: d.Gumbel(0.0, 1.0)],
    "HalfCauchy": [lambda t, d: d.HalfCauchy(v(t, 1.0, 2.0))],
    "HalfNormal": [lambda t, d: d.HalfNormal(v(t, 1.0, 2.0))],
    "Independent": [
        lambda t, d: d.Independent(d.Normal(t.zeros(2, 3, dtype=t.float64), v(t, 1.0, 2.0, 3.0)), 1)
    ],
    "InverseGamma": [lambda t, d: d.InverseGamma(v(t, 0.5, 2.5), v(t, 1.0, 3.0))],
    "Kumaraswamy": [lambda t, d: d.Kumaraswamy(v(t, 0.5, 2.0), v(t, 3.0, 1.5))],
    "LKJCholesky": [lambda t, d: d.LKJCholesky(3, v(t, 0.5, 2.0))],
    "Laplace": [lambda t, d: d.Laplace(v(t, 0.0, 1.0), v(t, 1.0, 2.0))],
    "LogNormal": [lambda t, d: d.LogNormal(v(t, 0.0, 1.0), v(t, 1.0, 0.3))],
    "LogisticNormal": [lambda t, d: d.LogisticNormal(v(t, 0.0, 1.0), v(t, 1.0, 0.3))],
    "LowRankMultivariateNormal": [
        lambda t, d: d.LowRankMultivariateNormal(
            v(t, 0.0, 1.0, 2.0), t.stack([v(t, 1.0, 0.5, 0.2), v(t, 0.0, 0.3, 1.0)], 1), v(t, 0.5, 1.0, 2.0)
        )
    ],
    "MixtureSameFamily": [
        lambda t, d: d.MixtureSameFamily(
            d.Categorical(v(t, 0.3, 0.7)), d.Normal(v(t, -1.0, 1.0), v(t, 0.5, 1.0))
        ),
        lambda t, d: d.MixtureSameFamily(
            d.Categorical(v(t, 0.3, 0.7)),
            d.Independent(d.Gamma(t.ones(2, 3, dtype=t.float64), v(t, 1.0, 2.0, 3.0)), 1),
        ),
    ],
    "Multinomial": [lambda t, d: d.Multinomial(4, v(t, 0.2, 0.5, 0.3))],
    "MultivariateNormal": [
        lambda t, d: d.MultivariateNormal(v(t, 0.0, 1.0, 2.0), positive_definite(t)),
        lambda t, d: d.MultivariateNormal(v(t, 0.0, 1.0, 2.0), precision_matrix=positive_definite(t)),
        lambda t, d: d.MultivariateNormal(
            t.zeros(2, 3, dtype=t.float64), scale_tril=positive_definite(t).tril()
        ),
    ],
    "NegativeBinomial": [
        lambda t, d: d.NegativeBinomial(v(t, 3.0, 5.0), v(t, 0.2, 0.7)),
        lambda t, d: d.NegativeBinomial(2, logits=v(t, 0.2)),
    ],
    "Normal": [lambda t, d: d.Normal(v(t, 0.0, 1.0), v(t, 1.0, 2.0)), lambda t, d: d.Normal(0.0, 1.0)],
    "OneHotCategorical": [lambda t, d: d.OneHotCategorical(v(t, 0.2, 0.5, 0.3))],
    "OneHotCategoricalStraightThrough": [
        lambda t, d: d.OneHotCategoricalStraightThrough(logits=v(t, 0.2, 0.5))
    ],
    "Pareto": [lambda t, d: d.Pareto(v(t, 1.0, 2.0), v(t, 0.5, 3.0))],
    "Poisson": [lambda t, d: d.Poisson(v(t, 0.5, 7.0))],
    "RelaxedBernoulli": [lambda t, d: d.RelaxedBernoulli(t.tensor(0.7, dtype=t.float64), v(t, 0.2, 0.7))],
    "RelaxedOneHotCategorical": [
        lambda t, d: d.RelaxedOneHotCategorical(t.tensor(0.7, dtype=t.float64), v(t, 0.2, 0.7, 0.1))
    ],
    "StudentT": [lambda t, d: d.StudentT(v(t, 0.5, 1.5, 4.0), v(t, 0.0), v(t, 2.0))],
    "TransformedDistribution": [
        lambda t, d: d.TransformedDistribution(
            d.Normal(v(t, 0.0, 1.0), 1.0), [d.AffineTransform(1.0, -0.5), d.SigmoidTransform()]
        )
    ],
    "Uniform": [lambda t, d: d.Uniform(v(t, 0.0, -1.0), v(t, 1.0, 2.0))],
    "VonMises": [lambda t, d: d.VonMises(v(t, 0.0, 1.0), v(t, 0.5, 20.0))],
    "Weibull": [lambda t, d: d.Weibull(v(t, 1.0, 2.0), v(t, 0.5, 3.0))],
    "Wishart": [lambda t, d: d.Wishart(v(t, 4.0), positive_definite(t))],
}
CASES = [(name, i) for name, makers in FAMILIES.items() for i in range(len(makers))]
# Other estimators of the same gradient; PyTorch's Wishart raises.
GAMMAS = {"Chi2", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT"}
OWN_GRADIENTS = {"Beta", "Dirichlet", "Wishart"}


def make(t, name, number):
    return FAMILIES[name][number](t, t.distributions)


def attempt(action):
    """What an action gives, as plain values; the kind of error where it raises one."""
    try:
        value = action()
    except (NotImplementedError, TypeError):  # PyTorch raises TypeError where a formula lacks a part
        return "missing"
    return value.tolist() if hasattr(value, "tolist") else value


def test_all_families_are_here():
    public = {
        name
        for name, cls in vars(torch.distributions).items()
        if isinstance(cls, type) and issubclass(cls, torch.distributions.Distribution)
    }
    assert public - {"Distribution", "ExponentialFamily"} == set(FAMILIES)


def tolerance(name, number, usual):
    """Numbers as parameters make float32 tensors; PyTorch's von Mises rests on a polynomial of 7 digits."""
    single = samples(name, number).dtype is torch.float32
    return 1e-5 if single else 1e-6 if name == "VonMises" else usual


def samples(name, number, count=5):
    """PyTorch's draws, which both sides then look at."""
    torch.manual_seed(3)
    return make(torch, name, number).sample((count,))


@pytest.mark.parametrize(("name", "number"), CASES)
def test_values(nearly, name, number):
    drawn = samples(name, number)

    def scenario(t):
        made = make(t, name, number)
        x = t.tensor(drawn.tolist(), dtype=getattr(t, str(drawn.dtype)[6:]))
        moments = [attempt(lambda n=n: getattr(made, n)) for n in ("mean", "mode", "variance", "stddev")]
        cdf = attempt(lambda: made.cdf(x))
        inverse = attempt(lambda: made.icdf(t.full_like(x, 0.3)))
        others = [attempt(made.entropy), attempt(made.perplexity), attempt(made.enumerate_support)]
        others.append(attempt(lambda: made.enumerate_support(expand=False)))
        flags = [made.has_rsample, made.has_enumerate_support, repr(made.support), repr(made)]
        shapes = [tuple(made.batch_shape), tuple(made.event_shape)]
        inside = made.support.check(x).tolist()
        return made.log_prob(x).tolist(), moments, cdf, inverse, others, flags, shapes, inside

    nearly(scenario, tolerance(name, number, 1e-9))


@pytest.mark.parametrize(("name", "number"), CASES)
def test_gradients_of_densities(nearly, name, number):
    drawn = samples(name, number)

    def scenario(t):
        made, given = make_recording(t, name, number)
        x = t.tensor(drawn.tolist(), dtype=getattr(t, str(drawn.dtype)[6:]))
        density = made.log_prob(x)
        if density.requires_grad:
            density.sum().backward()
        return [None if value.grad is None else value.grad.tolist() for value in given]

    nearly(scenario, tolerance(name, number, 1e-8))


@pytest.mark.parametrize(("name", "number"), CASES)
def test_streams_and_shapes(nearly, name, number):
    def scenario(t):
        made, trace = make(t, name, number), []
        t.manual_seed(0)
        drawn = made.sample((4,))
        # PyTorch takes regular Wishart draws for singular ones and draws again
        trace.append(tuple(drawn.shape) if name == "Wishart" else drawn.tolist())
        trace.append(tuple(made.sample().shape))
        if made.has_rsample and name != "Wishart":
            t.manual_seed(1)
            trace.append(made.rsample((2, 3)).tolist())
        wide = made.expand((2, *made.batch_shape))
        x = made.sample()
        trace += [
            tuple(wide.batch_shape),
            tuple(wide.event_shape),
            tuple(wide.sample((3,)).shape),
            type(wide).__name__,
        ]
        trace.append(bool((wide.log_prob(x)[1] == made.log_prob(x)).all()))
        return trace

    nearly(scenario, 1e-6)


@pytest.mark.parametrize(("name", "number"), CASES)
def test_reparametrised_gradients(nearly, name, number):
    def scenario(t):
        made, given = make_recording(t, name, number)
        if not made.has_rsample or name in OWN_GRADIENTS:
            return None
        t.manual_seed(2)
        drawn = made.rsample((5,))
        if drawn.requires_grad:
            drawn.sin().sum().backward()
        return [None if value.grad is None else value.grad.tolist() for value in given]

    # PyTorch's derivative of gamma draws is an approximation of 3 digits
    nearly(scenario, 5e-3 if name in GAMMAS else 1e-6)


def test_wishart_draws_have_the_right_mean():
    face.manual_seed(0)
    made = make(face, "Wishart", 0)
    drawn = made.sample((20_000,)).mean(0)
    assert (drawn - made.mean).abs().max() < 0.15


def test_derivative_of_gamma_draws():
    """Against differences of quantiles, over all ranges of the formulas."""
    from scipy.special import gammainc, gammaincinv

    from ms_adapter.pytorch.distributions._gamma_gradient import gamma_gradient

    for a in (0.05, 0.7, 3.0, 60.0, 900.0, 5000.0):
        for share in (0.02, 0.5, 0.97):
            x = gammaincinv(a, share)
            h = a * 1e-5
            want = (gammaincinv(a + h, share) - gammaincinv(a - h, share)) / (2 * h)
            assert gammainc(a, x) == pytest.approx(share)
            got = gamma_gradient(face.tensor([a], dtype=face.float64), face.tensor([x], dtype=face.float64))
            assert got.item() == pytest.approx(want, rel=1e-4)


def test_gradients_of_dirichlet_draws_are_right_on_average():
    """Another estimator than PyTorch's: the gradient of the mean of a function is what both estimate."""
    face.manual_seed(0)
    concentration = face.tensor([0.7, 2.0, 3.5], dtype=face.float64, requires_grad=True)
    drawn = face.distributions.Dirichlet(concentration).rsample((200_000,))
    drawn[:, 0].pow(2).mean().backward()
    exact = torch.tensor([0.7, 2.0, 3.5], dtype=D, requires_grad=True)
    total = exact.sum()
    (exact[0] * (exact[0] + 1) / (total * (total + 1))).backward()
    assert concentration.grad.tolist() == pytest.approx(exact.grad.tolist(), abs=2e-3)


@pytest.mark.parametrize("name", list(FAMILIES))
def test_copies_and_pickles(name):
    made = make(face, name, 0)
    x = made.sample()
    for twin in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert (twin.log_prob(x) == made.log_prob(x)).all()


# PyTorch's files lose Gumbel's inverse transforms; its Wishart wants an attribute that nothing else needs.
@pytest.mark.parametrize(("name", "number"), [case for case in CASES if case[0] not in ("Gumbel", "Wishart")])
@pytest.mark.parametrize(("writer", "reader"), [(torch, face), (face, torch)])
def test_files_travel(writer, reader, name, number):
    made, buffer = make(writer, name, number), io.BytesIO()
    writer.save(made, buffer)
    buffer.seek(0)
    again = reader.load(buffer, weights_only=False)
    assert type(again).__name__ == type(made).__name__
    drawn = samples(name, number)
    want, got = (
        d.log_prob(t.tensor(drawn.tolist(), dtype=getattr(t, str(drawn.dtype)[6:]))).reshape(-1).tolist()
        for t, d in ((writer, made), (reader, again))
    )
    assert got == pytest.approx(want, abs=1e-5)
    assert again.sample((2,)).shape == made.sample((2,)).shape
    assert again.expand((2, *again.batch_shape)).batch_shape == (2, *made.batch_shape)


NUMBERS = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Cauchy",
    "ContinuousBernoulli",
    "Exponential",
    "Gamma",
    "Geometric",
    "Gumbel",
]
NUMBERS += [
    "HalfNormal",
    "Laplace",
    "LogNormal",
    "Normal",
    "Pareto",
    "Poisson",
    "Uniform",
    "Chi2",
    "InverseGamma",
]
VECTORS = ["MultivariateNormal", "LowRankMultivariateNormal"]
PAIRS = [*itertools.product(NUMBERS, NUMBERS), *itertools.product(VECTORS, VECTORS)]
PAIRS += [
    (name, name)
    for name in ("Categorical", "OneHotCategorical", "Dirichlet", "Independent", "Wishart", "StudentT")
]


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_divergences(nearly, first, second):
    def scenario(t):
        d = t.distributions
        trace = []
        for i, j in itertools.product(range(len(FAMILIES[first])), range(len(FAMILIES[second]))):
            if first == second and i != j and len(make(t, first, i).event_shape) + (first == "Categorical"):
                continue  # vectors of other lengths
            p, q = make(t, first, i), make(t, second, j)
            if len(p.batch_shape) and len(q.batch_shape) and p.batch_shape != q.batch_shape:
                continue
            trace.append(attempt(lambda p=p, q=q: d.kl_divergence(p, q)))
        return trace

    numbers = any(tolerance(name, -1, 0) for name in (first, second))  # float32 where parameters are numbers
    nearly(scenario, 1e-5 if numbers else 1e-9)


def test_divergences_of_ones_own(both):
    def scenario(t):
        d = t.distributions

        class Mine(d.Normal):
            pass

        before = d.kl_divergence(Mine(0.0, 1.0), d.Normal(1.0, 1.0)).item()

        @d.register_kl(Mine, d.Normal)
        def divergence(p, q):
            return "mine"

        after = d.kl_divergence(Mine(0.0, 1.0), d.Normal(1.0, 1.0))
        return before, after, attempt(lambda: d.kl_divergence(d.Normal(0.0, 1.0), d.StudentT(1.0)))

    both(scenario)


def test_errors(both):
    def scenario(t):
        d = t.distributions
        calls = [
            lambda: d.Normal(0.0, -1.0),
            lambda: d.Normal(t.zeros(2), t.ones(3)),
            lambda: d.Normal("x", 1.0),
            lambda: d.Uniform(1.0, 0.0),
            lambda: d.Bernoulli(),
            lambda: d.Bernoulli(0.5, 0.5),
            lambda: d.Bernoulli(2.0),
            lambda: d.Categorical(t.tensor(0.5)),
            lambda: d.Categorical(t.tensor([-0.5, 1.5])),
            lambda: d.Exponential(1.0).log_prob(t.tensor(-1.0)),
            lambda: d.Normal(t.zeros(2), 1.0).log_prob(t.zeros(3)),
            lambda: d.Normal(0.0, 1.0).log_prob(3.0),
            lambda: d.Dirichlet(t.tensor(1.0)),
            lambda: d.MultivariateNormal(t.zeros(2)),
            lambda: d.MultivariateNormal(t.zeros(2), t.eye(2), scale_tril=t.eye(2)),
            lambda: d.MultivariateNormal(t.zeros(2), -t.eye(2)),
            lambda: d.Multinomial(t.tensor([1, 2]), t.ones(2)),
            lambda: d.Independent(d.Normal(0.0, 1.0), 1),
            lambda: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
            lambda: d.MixtureSameFamily(d.Normal(0.0, 1.0), d.Normal(0.0, 1.0)),
            lambda: d.LKJCholesky(1),
            lambda: d.Wishart(t.tensor(1.0), t.eye(3)),
            lambda: d.Distribution.set_default_validate_args(3),
            lambda: d.Poisson(1.0).rsample(),
            lambda: type("Mine", (d.Normal,), {"__init__": lambda self: None})().expand((2,)),
        ]
        trace = []
        for number, call in enumerate(calls):
            try:
                call()
                trace.append(number)
            except Exception as err:
                trace.append((number, type(err).__name__))
        return trace

    both(scenario)
