"""Operators that take from the stream of random numbers: their results depend on what was drawn before."""

from __future__ import annotations

from typing import Any

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


# Of these the stream gives other numbers for another dtype; of dropout and bernoulli_(p) it does not.
_BY_DTYPE = frozenset((
    "rand", "randn", "rand_like", "randn_like", "normal", "bernoulli", "poisson", "multinomial", "rrelu",
    "gumbel_softmax", "uniform_", "normal_", "exponential_", "cauchy_", "log_normal_",
))  # fmt: skip


def draw_in(torch: Any, dtype: Any, name: str, func: Any, args: tuple, kwargs: dict) -> Any:
    """Call a random operator so that it draws what it would draw in a run whose default dtype is `dtype`."""
    own = torch.get_default_dtype()
    if own == dtype or not (name in _BY_DTYPE or (draws(name) and name not in RANDOM)):
        return func(*args, **kwargs)

    def given(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype == own:
            return value.detach().to(dtype)
        return dtype if value == own and isinstance(value, torch.dtype) else value

    tensors = [value for value in (*args, *kwargs.values()) if isinstance(value, torch.Tensor)]
    others = {key: given(value) for key, value in kwargs.items() if key != "requires_grad"}
    if not tensors and "dtype" not in others:
        others["dtype"] = dtype
    if not tensors and kwargs.get("dtype", own) != own:
        return func(*args, **kwargs)
    made = func(*map(given, args), **others)
    if name.endswith("_"):
        with torch.no_grad():
            tensors[0].copy_(made)
        return tensors[0]
    made = made.to(own) if made.dtype == dtype else made
    return made.requires_grad_() if kwargs.get("requires_grad") else made
