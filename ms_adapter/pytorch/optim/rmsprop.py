"""RMSprop."""

from ._per_parameter import PerParameter
from ._stepping import move, move_by_ratio, options_of
from .optimizer import check_option

__all__ = ["RMSprop"]


class RMSprop(PerParameter):
    """Steps along the gradient over the root of the running mean of its square (``centered``: of its
    variance).
    """

    _kernel = "rmsprop_step"
    _kept = ("square_avg", "grad_avg", "momentum_buffer")
    _numbers = ("alpha", "eps", "momentum")

    def __init__(
        self,
        params,
        lr=0.01,
        alpha=0.99,
        eps=1e-08,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        options = options_of(locals())
        check_option("epsilon value", eps, eps >= 0.0)
        check_option("momentum value", momentum, momentum >= 0.0)
        check_option("alpha value", alpha, alpha >= 0.0)
        super().__init__(params, options)

    def _columns(self, group):
        mean, buffer = group["centered"], group["momentum"] > 0
        return "square_avg", "grad_avg" if mean else None, "momentum_buffer" if buffer else None

    def _update(self, param, grad, state, group, lr):
        alpha, square_avg = group["alpha"], state["square_avg"]
        square_avg.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        variance = square_avg
        if group["centered"]:
            mean = state["grad_avg"].lerp_(grad, 1 - alpha)
            variance = square_avg.addcmul(mean, mean, value=-1)
        root = variance.sqrt().add(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"].mul_(group["momentum"]).addcdiv_(grad, root)
            move(param, buffer, lr)
        else:
            move_by_ratio(param, grad, root, lr)
