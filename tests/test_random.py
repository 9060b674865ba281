"""The random stream against PyTorch's: the same values bit for bit, and the same state afterwards."""

from __future__ import annotations

import copy
import threading

import numpy as np
import pytest

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch")

FLOATS = ["float16", "bfloat16", "float32", "float64"]
SIZES = [1, 5, 15, 16, 17, 50, 513, 1003]


def both(draw, seed=7):
    """Draw with both libraries from one seed: the results have the same bits, the states are equal after."""
    results = []
    for lib in (torch, ours):
        lib.manual_seed(seed)
        results.append(draw(lib))
    want, got = results
    assert tuple(got.shape) == tuple(want.shape)
    assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1]
    assert got.flatten().tolist() == want.flatten().tolist()
    assert np.array_equal(ours.get_rng_state().numpy(), torch.get_rng_state().numpy())
    return want, got


def pytorch_rand(n, seed):
    return torch.rand(n, generator=torch.Generator().manual_seed(seed)).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    "fill",
    [
        lambda t: t.uniform_(-2, 5),
        lambda t: t.normal_(1, 2),
        lambda t: t.exponential_(2),
        lambda t: t.cauchy_(1, 2),
        lambda t: t.log_normal_(0.5, 0.25),
        lambda t: t.geometric_(0.3),
        lambda t: t.bernoulli_(0.3),
        lambda t: t.random_(),
    ],
    ids=["uniform", "normal", "exponential", "cauchy", "log_normal", "geometric", "bernoulli", "random"],
)
def test_fills(fill, n, dtype):
    both(lambda lib: fill(lib.empty(n, dtype=getattr(lib, dtype))))


@pytest.mark.parametrize(
    "view",
    [
        lambda t: t.t(),
        lambda t: t[:, 1:9],
        lambda t: t[::3],
        lambda t: t.view(6, 2, 12).transpose(0, 2),
        lambda t: t[0, 0],
        lambda t: t[:0],
    ],
    ids=["transposed", "columns", "steps", "permuted", "0-d", "empty"],
)
@pytest.mark.parametrize("fill", ["uniform_", "normal_", "random_", "bernoulli_", "exponential_"])
def test_views_are_filled_along_memory_and_nothing_else_is_touched(fill, view):
    def draw(lib):
        base = lib.zeros(12, 12)
        getattr(view(base), fill)()
        return base

    both(draw)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", *FLOATS])
@pytest.mark.parametrize("bounds", [(), (2,), (0, 2), (1, None)])
def test_random_integers(dtype, bounds):
    if dtype == "bool" and bounds == (1, None):
        bounds = (0, None)
    both(lambda lib: lib.zeros(50, dtype=getattr(lib, dtype)).random_(*bounds))


@pytest.mark.parametrize(
    "bounds", [(-5, 90), (0, 2**28 - 1), (0, 2**28), (-(2**40), 2**40), (-(2**63), 2**63 - 1)]
)
def test_randint_takes_64_bits_for_wide_ranges(bounds):
    both(lambda lib: lib.randint(*bounds, (50,)))


@pytest.mark.parametrize("n", [0, 1, 2, 100, 20001])
def test_randperm(n):
    both(lambda lib: lib.randperm(n))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("n", [3, 8, 50])
def test_complex(dtype, n):
    both(lambda lib: lib.randn(n, dtype=getattr(lib, dtype)))
    both(lambda lib: lib.rand(n, dtype=getattr(lib, dtype)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_probabilities_by_element(dtype):
    def weights(lib):
        return lib.rand(20, 9, dtype=getattr(lib, dtype))

    both(lambda lib: lib.bernoulli(weights(lib)))
    both(lambda lib: lib.zeros(20, 9).bernoulli_(weights(lib)))
    both(lambda lib: lib.poisson(weights(lib) * 40))
    both(lambda lib: lib.multinomial(weights(lib), 30, replacement=True))


@pytest.mark.parametrize("samples", [1, 4, 9])
def test_multinomial_without_replacement(samples):
    both(lambda lib: lib.multinomial(lib.rand(20, 9), samples))
    both(lambda lib: lib.multinomial(lib.rand(9, 20).t(), samples))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 1.0, 2.5, 20.0])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_gamma(alpha, dtype):
    both(lambda lib: lib._standard_gamma(lib.full((50,), alpha, dtype=getattr(lib, dtype))))


@pytest.mark.parametrize("count, p", [(10, 0.3), (10, 0.7), (100, 0.4), (100, 0.7), (5, 0), (5, 1)])
def test_binomial(count, p):
    both(lambda lib: lib.binomial(lib.full((50,), float(count)), lib.full((50,), float(p))))


@pytest.mark.parametrize("p", [0.0, 0.1, 0.25, 0.4, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("dtype", FLOATS)
def test_dropout(p, dtype):
    both(lambda lib: lib.dropout(lib.ones(7, 30, dtype=getattr(lib, dtype)) * 3, p, True))


@pytest.mark.parametrize("name", ["feature_dropout", "alpha_dropout", "feature_alpha_dropout"])
def test_other_dropouts(name):
    both(lambda lib: getattr(lib, name)(lib.ones(3, 8, 4, 4), 0.4, True))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_rrelu(dtype):
    both(lambda lib: lib.rrelu(lib.randn(60, dtype=getattr(lib, dtype)), 0.1, 0.3, True))
    both(lambda lib: lib.rrelu(lib.randn(5, 12, dtype=getattr(lib, dtype)).t().contiguous(), training=True))
    both(lambda lib: lib.rrelu(lib.randn(60, dtype=getattr(lib, dtype))))


def test_dropout_gradient_is_the_mask():
    def gradient(lib):
        x = lib.ones(200, requires_grad=True)
        lib.dropout(x, 0.4, True).sum().backward()
        return x.grad

    both(gradient)


def test_dropout_that_keeps_all_returns_its_input():
    x = ours.ones(3)
    assert ours.dropout(x, 0.5, False) is x
    assert ours.dropout(x, 0.0, True) is x


def test_normal_of_tensors():
    both(lambda lib: lib.normal(lib.arange(20.0), 0.5))
    both(lambda lib: lib.normal(0.5, lib.arange(1.0, 21.0)))
    both(lambda lib: lib.normal(lib.arange(20.0), lib.arange(3.0).view(3, 1)))
    both(lambda lib: lib.normal(2.0, 3.0, (40,)))


@pytest.mark.parametrize("name", ["rand_like", "randn_like"])
def test_like_keeps_strides(name):
    want, got = both(lambda lib: getattr(lib, name)(lib.zeros(4, 30).t()))
    assert got.stride() == want.stride()


def test_waiting_normal_is_part_of_the_state():
    def draw(lib):
        lib.randn(5)
        state = lib.get_rng_state()
        first = lib.randn(3)
        lib.set_rng_state(state)
        return lib.stack([first, lib.randn(3)])

    want, _ = both(draw)
    assert want[0].tolist() == want[1].tolist()


def test_a_state_of_pytorch_continues_here():
    torch.manual_seed(3)
    torch.randn(701)
    ours.set_rng_state(ours.tensor(torch.get_rng_state().tolist(), dtype=ours.uint8))
    assert ours.rand(900).tolist() == torch.rand(900).tolist()


def test_generators_are_apart_from_the_default_one():
    ours.manual_seed(1)
    before = ours.get_rng_state()
    g = ours.Generator().manual_seed(5)
    assert ours.rand(9, generator=g).tolist() == pytorch_rand(9, seed=5)
    assert ours.get_rng_state().tolist() == before.tolist()


@pytest.mark.parametrize("seed", [0, 2**63, 2**64 - 1, -1, -(2**63)])
def test_seeds(seed):
    g = ours.Generator()
    assert g.initial_seed() == torch.Generator().initial_seed()
    assert g.manual_seed(seed) is g
    assert g.initial_seed() == torch.Generator().manual_seed(seed).initial_seed()
    assert ours.rand(3, generator=g).tolist() == pytorch_rand(3, seed)


@pytest.mark.parametrize("seed", [2.7, "3", True])
def test_manual_seed_takes_what_int_takes(seed):
    assert ours.manual_seed(seed) is ours.default_generator
    assert ours.initial_seed() == torch.manual_seed(seed).initial_seed()


def test_seed_from_the_system_differs_each_time():
    g = ours.Generator()
    first, second = g.seed(), g.seed()
    assert first != second and g.initial_seed() == second
    assert 0 <= second < 2**53


def rebuilt(cls, args, state):
    """What pickle does; pickle itself would take the class from PyTorch, whose name ours carries."""
    twin = cls(*args)
    twin.__setstate__(state)
    return twin


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda g: g.clone_state(), lambda g: rebuilt(*g.__reduce__())],
    ids=["copy", "deepcopy", "clone_state", "reduce"],
)
def test_copies_of_a_generator_draw_the_same_and_apart(duplicate):
    g = ours.Generator().manual_seed(11)
    ours.randn(3, generator=g)
    twin = duplicate(g)
    assert twin is not g
    assert ours.randn(20, generator=twin).tolist() == ours.randn(20, generator=g).tolist()


@pytest.mark.parametrize(
    "kind, call",
    [
        (RuntimeError, lambda lib: lib.empty(3).uniform_(3, 1)),
        (RuntimeError, lambda lib: lib.empty(3).uniform_(-3e38, 3e38)),
        (RuntimeError, lambda lib: lib.empty(3, dtype=lib.float16).uniform_(0, 1e6)),
        (NotImplementedError, lambda lib: lib.empty(3, dtype=lib.int64).uniform_()),
        (RuntimeError, lambda lib: lib.empty(3).normal_(0, -1)),
        (NotImplementedError, lambda lib: lib.randn(3, dtype=lib.int64)),
        (RuntimeError, lambda lib: lib.empty(3).exponential_(-1)),
        (RuntimeError, lambda lib: lib.empty(3).geometric_(1.5)),
        (RuntimeError, lambda lib: lib.empty(3).cauchy_(0, -1)),
        (RuntimeError, lambda lib: lib.empty(3).log_normal_(0, -1)),
        (RuntimeError, lambda lib: lib.empty(3).bernoulli_(1.5)),
        (RuntimeError, lambda lib: lib.bernoulli(lib.tensor([1.5]))),
        (NotImplementedError, lambda lib: lib.bernoulli(lib.tensor([1]))),
        (RuntimeError, lambda lib: lib.empty(3).random_(5, 5)),
        (RuntimeError, lambda lib: lib.empty(3, dtype=lib.uint8).random_(0, 500)),
        (RuntimeError, lambda lib: lib.randint(5, 3, (2,))),
        (RuntimeError, lambda lib: lib.randperm(-1)),
        (RuntimeError, lambda lib: lib.randperm(3000, dtype=lib.float16)),
        (NotImplementedError, lambda lib: lib.randperm(3, dtype=lib.bool)),
        (RuntimeError, lambda lib: lib.poisson(lib.tensor([-1.0]))),
        (RuntimeError, lambda lib: lib.normal(0.0, lib.tensor([-1.0]))),
        (RuntimeError, lambda lib: lib.normal(lib.zeros(2), lib.zeros(3))),
        (RuntimeError, lambda lib: lib.multinomial(lib.tensor([0.1, 0.9]), 3)),
        (RuntimeError, lambda lib: lib.multinomial(lib.tensor([0.1, -0.9]), 1)),
        (RuntimeError, lambda lib: lib.multinomial(lib.tensor([0.0, 0.0]), 1)),
        (RuntimeError, lambda lib: lib.multinomial(lib.tensor([1, 2]), 1)),
        (RuntimeError, lambda lib: lib.zeros(1).expand(3).uniform_()),
        (RuntimeError, lambda lib: lib.dropout(lib.ones(3), 1.5, True)),
        (RuntimeError, lambda lib: lib.Generator().manual_seed("a")),
        (ValueError, lambda lib: lib.Generator().manual_seed(2**64)),
        (TypeError, lambda lib: lib.Generator().set_state(3)),
        (RuntimeError, lambda lib: lib.Generator().set_state(lib.zeros(3, dtype=lib.uint8))),
        (RuntimeError, lambda lib: lib.Generator().set_state(lib.zeros(5056, dtype=lib.uint8))),
        (TypeError, lambda lib: lib.Generator().set_state(lib.zeros(5056))),
        (RuntimeError, lambda lib: lib.Generator().get_offset()),
    ],
)
def test_wrong_calls_raise_pytorchs_types(kind, call):
    for lib in (torch, ours):
        with pytest.raises(kind):
            call(lib)


def test_threads_that_share_a_generator_take_whole_results():
    """Draws long enough to release the GIL: each thread's results are stretches of the one stream."""
    g, n = ours.Generator().manual_seed(2), 20000
    expected = ours.rand(n * 8, generator=ours.Generator().manual_seed(2)).tolist()
    drawn = []

    def work():
        for _ in range(2):
            drawn.append(ours.rand(n, generator=g).tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    stretches = [expected[i * n : (i + 1) * n] for i in range(8)]
    assert sorted(drawn) == sorted(stretches)
