"""RAdam: Adam that trusts its variance only once it rests on enough steps."""

from ._per_parameter import PerParameter
from ._stepping import check_betas, options_of
from .optimizer import check_option

__all__ = ["RAdam"]

_LEAST_LENGTH = 5.0  # of the approximated average, for its variance to be used


class RAdam(PerParameter):
    """Adam whose adaptive rate is rectified by its own variance, and left out in the first steps."""

    _kernel = "radam_step"
    _kept = ("exp_avg", "exp_avg_sq")
    _numbers = ("eps",)

    def __init__(
        self,
        params,
        lr=0.001,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        options = options_of(locals())
        check_option("epsilon value", eps, eps >= 0.0)
        check_betas(betas)
        super().__init__(params, options)

    def _update(self, param, grad, state, group, lr):
        beta1, beta2 = group["betas"]
        step = state["step"].item()
        exp_avg = state["exp_avg"].lerp_(grad, 1 - beta1)
        exp_avg_sq = state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction2 = 1 - beta2**step
        update = exp_avg / (1 - beta1**step) * lr
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * step * beta2**step / correction2
        if length > _LEAST_LENGTH:
            rate = correction2**0.5 / exp_avg_sq.sqrt().add(group["eps"])
            gain = (length - 4) * (length - 2) * longest
            update = update * rate * (gain / ((longest - 4) * (longest - 2) * length)) ** 0.5
        param.add_(update, alpha=-1.0)
