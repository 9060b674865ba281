"""SparseAdam: Adam for gradients that are sparse, touching only the rows that have one."""

import ms_adapter.pytorch as torch

from ._stepping import Stepping, check_betas, options_of, zeros_of
from .optimizer import check_option

__all__ = ["SparseAdam"]


class SparseAdam(Stepping):
    """Adam whose moments and parameters change only where the sparse gradient has values."""

    _counts_in_tensors = False

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-08, maximize=False):
        options = options_of(locals())
        check_option("learning rate", lr, lr > 0.0)
        check_option("epsilon value", eps, eps > 0.0)
        check_betas(betas)
        super().__init__(params, options)
        sparse = [
            (number, place)
            for number, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if param.is_sparse
        ]
        if sparse:
            raise ValueError(f"SparseAdam requires dense parameters, those at indices {sparse} are sparse.")

    def _step_group(self, group, params):
        for param in params:
            self._step_parameter(param, param.grad, group)

    def _step_parameter(self, param, grad, group):
        if not grad.is_sparse:
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        state, (beta1, beta2) = self.state[param], group["betas"]
        if not state:
            state.update(step=0, exp_avg=zeros_of(param), exp_avg_sq=zeros_of(param))
        state["step"] += 1
        grad = grad.coalesce()
        places, values = tuple(grad.indices()), grad.values()
        if values.numel() == 0:
            return
        values = -values if group["maximize"] else values
        exp_avg, exp_avg_sq = state["exp_avg"], state["exp_avg_sq"]
        first = torch.lerp(exp_avg[places], values, 1 - beta1)
        second = torch.lerp(exp_avg_sq[places], values * values, 1 - beta2)
        exp_avg[places], exp_avg_sq[places] = first, second
        step = state["step"]
        rate = group["lr"] * (1 - beta2**step) ** 0.5 / (1 - beta1**step)
        param[places] -= rate * first / (second.sqrt() + group["eps"])
