"""Adamax: Adam with the infinity norm."""

import ms_adapter.pytorch as torch

from ._per_parameter import PerParameter
from ._stepping import check_betas, options_of, zeros_of
from .optimizer import check_option

__all__ = ["Adamax"]


class Adamax(PerParameter):
    """Steps along the running mean of the gradients over the running maximum of their sizes."""

    _kernel = "adamax_step"

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

    def _plan(self, group):
        beta1, beta2 = group["betas"]
        return ("exp_avg", "exp_inf"), {"beta1": beta1, "beta2": beta2, "eps": group["eps"]}

    def _start(self, param, state, group):
        state["exp_avg"] = zeros_of(param)
        state["exp_inf"] = zeros_of(param)

    def _update(self, param, grad, state, group, lr):
        beta1, beta2 = group["betas"]
        exp_avg, exp_inf = state["exp_avg"].lerp_(grad, 1 - beta1), state["exp_inf"]
        exp_inf.copy_(torch.maximum(exp_inf.mul_(beta2).clone(), grad.abs().add(group["eps"])))
        rate = lr / (1 - beta1 ** state["step"].item())
        param.addcdiv_(exp_avg, exp_inf, value=-rate)
