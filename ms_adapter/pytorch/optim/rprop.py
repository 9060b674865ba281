"""Rprop: steps whose sizes follow the signs of the gradients."""

import ms_adapter.pytorch as torch

from ._per_parameter import PerParameter
from ._stepping import options_of, zeros_of
from .optimizer import _to_scalar

__all__ = ["Rprop"]


class Rprop(PerParameter):
    """Each element's step grows while its gradient keeps its sign, and shrinks when that changes."""

    _kernel = "rprop_step"
    _kept = ("prev", "step_size")

    def __init__(
        self,
        params,
        lr=0.01,
        etas=(0.5, 1.2),
        step_sizes=(1e-06, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        options = options_of(locals())
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, options)

    def _options(self, group):
        (shrink, grow), (least, most) = group["etas"], group["step_sizes"]
        return {"shrink": shrink, "grow": grow, "least": least, "most": most}

    def _start(self, param, state, group):
        lr = float(_to_scalar(group["lr"]))
        state["prev"] = zeros_of(param)
        state["step_size"] = torch.full_like(param.grad, complex(lr, lr) if param.is_complex() else lr)

    def _update(self, param, grad, state, group, lr):
        shrink, grow = group["etas"]
        agreement = grad * state["prev"]
        factor = torch.ones_like(grad)
        factor[agreement > 0] = grow
        factor[agreement < 0] = shrink
        step_size = state["step_size"].mul_(factor).clamp_(*group["step_sizes"])
        grad = grad.clone()
        grad[agreement < 0] = 0  # after a change of sign, no step
        param.addcmul_(grad.sign(), step_size, value=-1)
        state["prev"].copy_(grad)
