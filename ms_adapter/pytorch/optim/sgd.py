"""Stochastic gradient descent."""

import ms_adapter.pytorch as torch
from ms_adapter.capture import numbers

from ._stepping import Stepping, move, options_of, recorded_rate
from .optimizer import _to_scalar, check_option, check_variants, native

__all__ = ["SGD"]


class SGD(Stepping):
    """Gradient descent, with momentum (Nesterov's too) and weight decay.

    ``foreach`` and ``fused`` are accepted: every step is one pass over each parameter in any case.

    >>> import ms_adapter.pytorch as torch
    >>> p = torch.nn.Parameter(torch.ones(1))
    >>> p.grad = torch.ones(1)
    >>> torch.optim.SGD([p], lr=0.5).step()
    >>> p
    Parameter containing:
    tensor([0.5000], requires_grad=True)
    """

    def __init__(
        self,
        params,
        lr=0.001,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        options = options_of(locals())
        check_option("momentum value", momentum, momentum >= 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        check_variants(foreach, fused, differentiable)
        super().__init__(params, options)

    def _step_group(self, group, params):
        options = {name: group[name] for name in ("lr", "momentum", "dampening", "weight_decay")}
        flags = {name: group[name] for name in ("nesterov", "maximize")}
        momentum = group["momentum"] != 0
        buffers = [self.state[p].get("momentum_buffer") if momentum else None for p in params]
        grads = [p.grad for p in params]
        kernel = None if any(p.is_complex() for p in params) else native("sgd_step", params, options.values())
        if kernel is not None:
            kernel(params, grads, buffers, {**options, **flags, "decoupled": False})
        else:
            options["lr"] = _to_scalar(options["lr"])
            if numbers.recording():
                options["lr"] = recorded_rate(self, group, options["lr"])
            for i, param in enumerate(params):
                buffers[i] = _composed(param, grads[i], buffers[i], **options, **flags)
        if momentum:
            for param, buffer in zip(params, buffers, strict=True):
                self.state[param]["momentum_buffer"] = buffer


def _composed(param, grad, buffer, lr, momentum, dampening, weight_decay, nesterov, maximize):
    """One parameter's step from tensor operators; returns its momentum buffer."""
    grad = -grad if maximize else grad
    if isinstance(weight_decay, torch.Tensor) and weight_decay.requires_grad:
        grad = grad.addcmul(param.clone(), weight_decay)
    elif weight_decay != 0:
        grad = grad.add(param, alpha=weight_decay)
    if momentum != 0:
        if buffer is None:
            buffer = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    if isinstance(lr, torch.Tensor) and lr.requires_grad:
        param.addcmul_(grad, lr, value=-1)
    else:
        move(param, grad, lr)
    return buffer
