"""Adamax: Adam with the infinity norm."""

import ms_adapter.pytorch as torch

from ._per_parameter import PerParameter
from ._stepping import check_betas, move_by_ratio, options_of, steps_done
from .optimizer import check_option

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """Steps along the running mean of the gradients over the running maximum of their sizes."""

    _kernel = "adamax_step"
    _kept = ("exp_avg", "exp_inf")
    _numbers = ("eps",)

    def __init__(
        self,
        params,
        lr=0.002,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        options = options_of(locals())
        check_option("epsilon value", eps, eps >= 0.0)
        check_betas(betas)
        super().__init__(params, options)

    def _update(self, param, grad, state, group, lr):
        beta1, beta2 = group["betas"]
        exp_avg, exp_inf = state["exp_avg"].lerp_(grad, 1 - beta1), state["exp_inf"]
        exp_inf.copy_(torch.maximum(exp_inf.mul_(beta2).clone(), grad.abs().add(group["eps"])))
        rate = lr / (1 - beta1 ** steps_done(state))
        move_by_ratio(param, exp_avg, exp_inf, rate)
