"""Adadelta."""

from ._per_parameter import PerParameter
from ._stepping import move, options_of
from .optimizer import check_option

__all__ = ["Adadelta"]


class Adadelta(PerParameter):
    """Steps by the gradient times the ratio of the running sizes of past steps and of gradients."""

    _kernel = "adadelta_step"
    _kept = ("square_avg", "acc_delta")
    _numbers = ("rho", "eps")

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-06,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        options = options_of(locals())
        check_option("rho value", rho, 0.0 <= rho <= 1.0)
        check_option("epsilon value", eps, eps >= 0.0)
        super().__init__(params, options)

    def _update(self, param, grad, state, group, lr):
        rho, eps = group["rho"], group["eps"]
        square_avg = state["square_avg"].mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = state["acc_delta"].add(eps).sqrt().div(square_avg.add(eps).sqrt()).mul(grad)
        state["acc_delta"].mul_(rho).addcmul_(delta, delta, value=1 - rho)
        move(param, delta, lr)
