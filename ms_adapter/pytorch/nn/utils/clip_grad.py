"""Limiting gradients by their norm or value."""

import warnings

import ms_adapter.pytorch as torch


def _gradients(parameters):
    if isinstance(parameters, torch.Tensor):
        parameters = [parameters]
    return [p.grad for p in parameters if p.grad is not None]


@torch.no_grad()
def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of the norms of ``tensors``: as if they were one vector."""
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    if not tensors:
        return torch.tensor(0.0)
    norm_type = float(norm_type)
    norms = [torch.linalg.vector_norm(t, norm_type) for t in tensors]
    total = torch.linalg.vector_norm(torch.stack([n.to(norms[0].device) for n in norms]), norm_type)
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it "
            "cannot be clipped. To disable this error and scale the gradients by the non-finite norm "
            "anyway, set `error_if_nonfinite=False`"
        )
    return total


@torch.no_grad()
def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scale the gradients so that a norm of ``total_norm`` becomes at most ``max_norm``."""
    factor = torch.clamp(float(max_norm) / (total_norm + 1e-6), max=1.0)
    for grad in _gradients(parameters):
        grad.mul_(factor.to(grad.device))


@torch.no_grad()
def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scale the gradients so that their common norm is at most ``max_norm``; returns the norm before.

    >>> import ms_adapter.pytorch as torch
    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> clip_grad_norm_([p], 1.0)
    tensor(5.)
    """
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    total = get_total_norm(_gradients(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(*args, **kwargs):
    """The older name of :func:`clip_grad_norm_`."""
    warnings.warn("clip_grad_norm is deprecated in favor of clip_grad_norm_.", FutureWarning, stacklevel=2)
    return clip_grad_norm_(*args, **kwargs)


@torch.no_grad()
def clip_grad_value_(parameters, clip_value, foreach=None):
    """Limit each element of the gradients to [-clip_value, clip_value]."""
    for grad in _gradients(parameters):
        grad.clamp_(min=-float(clip_value), max=float(clip_value))
