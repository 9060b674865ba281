"""Operators that take from the stream of random numbers: their results depend on what was drawn before."""

RANDOM = frozenset((
    "rand", "randn", "randint", "randperm", "rand_like", "randn_like", "randint_like", "bernoulli",
    "multinomial", "normal", "poisson", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout",
    "feature_alpha_dropout", "rrelu", "gumbel_softmax", "uniform_", "normal_", "exponential_",
    "bernoulli_", "random_", "geometric_", "cauchy_", "log_normal_", "lstm", "gru", "rnn_tanh",
    "scaled_dot_product_attention",
))  # fmt: skip


def draws(name: str) -> bool:
    """Whether the operator may draw; initialisations do too."""
    return name in RANDOM or name.startswith(("kaiming_", "xavier_", "orthogonal_", "trunc_"))
