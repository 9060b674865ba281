"""Muon: momentum whose matrix is made orthogonal before each step."""

import math

import ms_adapter.pytorch as torch

from ._stepping import Stepping, options_of, zeros_of
from .optimizer import _to_scalar, check_option

__all__ = ["Muon"]

_MAX_STEPS = 100


class Muon(Stepping):
    """For the matrices of hidden layers only: steps along the orthogonal factor of the running gradient.

    The factor comes from ``ns_steps`` Newton-Schulz iterations in bfloat16. ``adjust_lr_fn`` scales the rate
    by the matrix's shape: "original" (the default) or "match_rms_adamw".
    """

    def __init__(
        self,
        params,
        lr=0.001,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.775, 2.0315),
        eps=1e-07,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        options = options_of(locals())
        check_option("momentum value", momentum, momentum >= 0.0)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, options)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with size: "
                        f"{param.size()}"
                    )

    def _step_group(self, group, params):
        for param in params:
            self._step_parameter(param, param.grad, group)

    def _step_parameter(self, param, grad, group):
        if param.is_complex() or grad.is_sparse:
            kind = "complex parameters" if param.is_complex() else "sparse gradients"
            raise RuntimeError(f"Muon does not support {kind}")
        state = self.state[param]
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = zeros_of(grad)
        buffer = state["momentum_buffer"].lerp_(grad, 1 - group["momentum"])
        update = grad.lerp(buffer, group["momentum"]) if group["nesterov"] else buffer
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        lr = _to_scalar(group["lr"])
        param.mul_(1 - lr * group["weight_decay"])
        param.add_(update, alpha=-lr * _shape_factor(group["adjust_lr_fn"], *param.shape))


def _shape_factor(kind, rows, columns):
    if kind == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(matrix, coefficients, steps, eps):
    """A nearly orthogonal matrix with the singular vectors of ``matrix``."""
    if steps >= _MAX_STEPS:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    result = matrix.bfloat16()
    tall = matrix.size(0) > matrix.size(1)
    if tall:
        result = result.T
    result = result / result.norm().clamp(min=eps)
    for _ in range(steps):
        gram = result @ result.T
        gram = torch.addmm(gram, gram, gram, beta=b, alpha=c)
        result = torch.addmm(result, gram, result, beta=a)
    return result.T if tall else result
