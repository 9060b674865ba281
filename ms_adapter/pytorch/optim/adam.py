"""Adam, and AdamW as the same with decoupled weight decay."""

import ms_adapter.pytorch as torch

from ._stepping import Stepping, check_betas, options_of, zeros_of
from .optimizer import _to_scalar, check_option, check_variants, native

__all__ = ["Adam"]


class Adam(Stepping):
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

    def _own_state(self, param, amsgrad):
        state = self.state[param]
        if not state:
            if param.grad.is_sparse:
                raise RuntimeError(
                    f"{type(self).__name__} does not support sparse gradients, please consider SparseAdam "
                    f"instead"
                )
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            for name in ("exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if amsgrad else ()):
                state[name] = zeros_of(param)
        return state

    def _step_group(self, group, params):
        amsgrad = group["amsgrad"]
        states = [self._own_state(param, amsgrad) for param in params]
        beta1, beta2 = group["betas"]
        options = {
            "lr": group["lr"],
            "beta1": beta1,
            "beta2": beta2,
            "eps": group["eps"],
            "weight_decay": group["weight_decay"],
        }
        flags = {
            "amsgrad": amsgrad,
            "decoupled": group["decoupled_weight_decay"],
            "maximize": group["maximize"],
        }
        columns = [[state[name] for state in states] for name in ("exp_avg", "exp_avg_sq")]
        columns.append([state["max_exp_avg_sq"] for state in states] if amsgrad else [])
        steps = [state["step"] for state in states]
        kernel = native("adam_step", params, options.values())
        if kernel is not None:
            kernel(params, [p.grad for p in params], *columns, steps, **options, **flags)
            return
        options["lr"] = _to_scalar(options["lr"])
        for param, state in zip(params, states, strict=True):
            _composed(param, param.grad, state, group["differentiable"], **options, **flags)


def _check_tensor_option(name, value, foreach, capturable):
    if isinstance(value, torch.Tensor):
        if foreach and not capturable:
            raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if value.numel() != 1:
            raise ValueError(f"Tensor {name} must be 1-element")


def _composed(
    param, grad, state, differentiable, lr, beta1, beta2, eps, weight_decay, amsgrad, decoupled, maximize
):
    """One parameter's step from tensor operators."""
    step = state["step"]
    step += 1
    grad = -grad if maximize else grad
    if weight_decay != 0:
        if decoupled:
            param.mul_(1 - lr * weight_decay)
        elif isinstance(weight_decay, torch.Tensor) and weight_decay.requires_grad:
            grad = grad.addcmul(param.clone(), weight_decay)
        else:
            grad = grad.add(param, alpha=weight_decay)
    tensors = [param, grad, state["exp_avg"], state["exp_avg_sq"], state.get("max_exp_avg_sq")]
    if param.is_complex():
        tensors = [None if t is None else torch.view_as_real(t) for t in tensors]
    param, grad, exp_avg, exp_avg_sq, largest = tensors
    exp_avg.lerp_(grad, 1 - beta1)
    exp_avg_sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    count = step if differentiable else step.item()
    step_size = lr / (1 - beta1**count)
    root = (1 - beta2**count) ** 0.5
    if amsgrad:
        largest.copy_(torch.maximum(largest.clone() if differentiable else largest, exp_avg_sq))
    denom = ((largest if amsgrad else exp_avg_sq).sqrt() / root).add_(eps)
    if isinstance(step_size, torch.Tensor):
        param.addcdiv_(exp_avg.clone() * -step_size, denom)
    else:
        param.addcdiv_(exp_avg, denom, value=-step_size)
