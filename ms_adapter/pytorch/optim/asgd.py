"""ASGD: stochastic gradient descent that also averages its parameters."""

from ._per_parameter import PerParameter
from ._stepping import counter, options_of
from .optimizer import _to_scalar

__all__ = ["ASGD"]


class ASGD(PerParameter):
    """Gradient descent with a falling rate; the average of the parameters from step ``t0`` on is kept as
    ``ax``.
    """

    _kernel = "asgd_step"
    _kept = ("ax",)
    _numbers = ("lambd", "alpha", "t0")
    _counts = ("step", "eta", "mu")

    def __init__(
        self,
        params,
        lr=0.01,
        lambd=0.0001,
        alpha=0.75,
        t0=1000000.0,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        super().__init__(params, options_of(locals()))

    def _start(self, param, state, group):
        state["eta"] = counter(float(_to_scalar(group["lr"])))
        state["mu"] = counter(1.0)
        super()._start(param, state, group)

    def _update(self, param, grad, state, group, lr):
        rate, mu, average = state["eta"].item(), state["mu"], state["ax"]
        step = state["step"].item()
        param.mul_(1 - group["lambd"] * rate).add_(grad, alpha=-rate)
        if mu.item() == 1:
            average.copy_(param)
        else:
            average.add_(param.sub(average).mul_(mu))
        state["eta"].fill_(float(lr / (1 + group["lambd"] * lr * step) ** group["alpha"]))
        mu.fill_(1 / max(1, step - group["t0"]))
