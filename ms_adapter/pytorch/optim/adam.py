"""Adam, and AdamW as the same with decoupled weight decay."""

import ms_adapter.pytorch as torch

from ._per_parameter import PerParameter
from ._stepping import check_betas, options_of, steps_done
from .optimizer import _to_scalar, check_option, check_variants

__all__ = ["Adam"]


class Adam(PerParameter):
    """Adam: steps along the running mean of the gradients over the root of that of their squares.

    ``foreach`` and ``fused`` are accepted: every step is one pass over each parameter in any case.

    >>> import ms_adapter.pytorch as torch
    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.ones(1)
    >>> torch.optim.Adam([p], lr=0.1).step()
    >>> p
    Parameter containing:
    tensor([0.9000], requires_grad=True)
    """

    _kernel = "adam_step"
    _kept = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")
    _numbers = ("eps",)

    def __init__(
        self,
        params,
        lr=0.001,
        betas=(0.9, 0.999),
        eps=1e-08,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        options = options_of(locals())
        _check_tensor_option("lr", lr, foreach, capturable)
        check_option("epsilon value", eps, eps >= 0.0)
        check_betas(betas)
        for index, beta in enumerate(betas):
            _check_tensor_option(f"betas[{index}]", beta, foreach, capturable)
        if isinstance(betas[0], torch.Tensor) != isinstance(betas[1], torch.Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        check_variants(foreach, fused, differentiable)
        super().__init__(params, {**options, "betas": tuple(map(_to_scalar, betas))})

    def _columns(self, group):
        return self._kept if group["amsgrad"] else (*self._kept[:2], None)

    def _update(self, param, grad, state, group, lr):
        beta1, beta2 = group["betas"]
        differentiable = group["differentiable"]
        exp_avg, largest = state["exp_avg"].lerp_(grad, 1 - beta1), state["exp_avg_sq"]
        largest.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        if group["amsgrad"]:
            before = state["max_exp_avg_sq"]
            before.copy_(torch.maximum(before.clone() if differentiable else before, largest))
            largest = before
        count = state["step"] if differentiable else steps_done(state)
        step_size = lr / (1 - beta1**count)
        denom = (largest.sqrt() / (1 - beta2**count) ** 0.5).add_(group["eps"])
        if isinstance(step_size, torch.Tensor):
            param.addcdiv_(exp_avg.clone() * -step_size, denom)
        else:
            param.addcdiv_(exp_avg, denom, value=-step_size)


def _check_tensor_option(name, value, foreach, capturable):
    if isinstance(value, torch.Tensor):
        if foreach and not capturable:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")
