"""Adagrad."""

import ms_adapter.pytorch as torch

from ._per_parameter import PerParameter
from ._stepping import counter, move_by_ratio, options_of, steps_done
from .optimizer import check_option, check_variants

__all__ = ["Adagrad"]


class Adagrad(PerParameter):
    """Steps along the gradient over the root of the sum of its squares so far."""

    _takes_sparse = True
    _kernel = "adagrad_step"
    _kept = ("sum",)
    _numbers = ("lr_decay", "eps")

    def __init__(
        self,
        params,
        lr=0.01,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        options = options_of(locals())
        check_option("lr_decay value", lr_decay, lr_decay >= 0.0)
        check_option(
            "initial_accumulator_value value", initial_accumulator_value, initial_accumulator_value >= 0.0
        )
        check_option("epsilon value", eps, eps >= 0.0)
        check_variants(foreach, fused, differentiable)
        super().__init__(params, options)
        for group in self.param_groups:  # its state exists from the start
            for param in group["params"]:
                self.state[param]["step"] = counter()
                self._start(param, self.state[param], group)

    def _start(self, param, state, group):
        start = group["initial_accumulator_value"]
        start = complex(start, start) if param.is_complex() else start
        state["sum"] = torch.full_like(param, start, memory_format=torch.preserve_format, requires_grad=False)

    def _update(self, param, grad, state, group, lr):
        rate = lr / (1 + (steps_done(state) - 1) * group["lr_decay"])
        if grad.is_sparse:  # only what it names changes
            grad = grad.coalesce()
            places, values = tuple(grad.indices()), grad.values()
            total = state["sum"][places] + values.pow(2)
            state["sum"][places] = total
            param[places] -= rate * values / (total.sqrt() + group["eps"])
            return
        total = state["sum"].addcmul_(grad, grad, value=1)
        move_by_ratio(param, grad, total.sqrt().add(group["eps"]), rate)
