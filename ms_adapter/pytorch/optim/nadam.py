"""NAdam: Adam with Nesterov momentum."""

from ._per_parameter import PerParameter
from ._stepping import check_betas, counter, options_of
from .optimizer import check_option

__all__ = ["NAdam"]


class NAdam(PerParameter):
    """Adam that looks one step ahead, with a momentum that grows as the steps go on."""

    _kernel = "nadam_step"
    _kept = ("exp_avg", "exp_avg_sq")
    _numbers = ("eps", "momentum_decay")
    _counts = ("step", "mu_product")

    def __init__(
        self,
        params,
        lr=0.002,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        momentum_decay=0.004,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        options = options_of(locals())
        check_option("epsilon value", eps, eps >= 0.0)
        check_option("momentum_decay value", momentum_decay, momentum_decay >= 0.0)
        check_betas(betas)
        super().__init__(params, options)

    def _start(self, param, state, group):
        state["mu_product"] = counter(1.0)
        super()._start(param, state, group)

    def _update(self, param, grad, state, group, lr):
        beta1, beta2 = group["betas"]
        step = state["step"].item()

        def momentum(count):
            return beta1 * (1.0 - 0.5 * 0.96 ** (count * group["momentum_decay"]))

        now, ahead = momentum(step), momentum(step + 1)
        state["mu_product"] *= now
        product = state["mu_product"].item()
        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        exp_avg_sq = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denom = exp_avg_sq.div(1 - beta2**step).sqrt().add(group["eps"])
        if group["differentiable"]:
            exp_avg = exp_avg.clone()  # the next step changes it
        param.addcdiv_(grad, denom, value=-lr * (1.0 - now) / (1.0 - product))
        param.addcdiv_(exp_avg, denom, value=-lr * ahead / (1.0 - product * ahead))
