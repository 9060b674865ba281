"""Adafactor: the second moment of a matrix kept as one row and one column."""

import ms_adapter.pytorch as torch

from ._per_parameter import PerParameter
from ._stepping import options_of
from .optimizer import check_option

__all__ = ["Adafactor"]


class Adafactor(PerParameter):
    """Steps relative to the parameter's size, along gradients divided by a factored second moment.

    ``eps`` is (least divisor, least parameter size); the first is by default that of the dtype.
    """

    _takes_complex = False

    def __init__(
        self,
        params,
        lr=0.01,
        beta2_decay=-0.8,
        eps=(None, 0.001),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        options = options_of(locals())
        check_option("beta2_decay", beta2_decay, beta2_decay <= 0.0)
        check_option("epsilon1", eps[0], eps[0] is None or eps[0] >= 0.0)
        check_option("epsilon2", eps[1], eps[1] >= 0.0)
        check_option("clipping threshold d", d, d >= 1.0)
        super().__init__(params, options)

    def _start(self, param, state, group):
        grad = param.grad
        if grad.dim() > 1:
            state["row_var"] = grad.new_zeros((*grad.shape[:-1], 1))
            state["col_var"] = grad.new_zeros((*grad.shape[:-2], 1, grad.size(-1)))
        else:
            state["variance"] = torch.zeros_like(grad, memory_format=torch.preserve_format)

    def _decay(self, param, grad, group, lr):
        return grad  # comes later: the step's size rests on the parameter before it

    def _update(self, param, grad, state, group, lr):
        step, (eps1, eps2) = state["step"].item(), group["eps"]
        eps1 = torch.finfo(param.dtype).eps if eps1 is None else eps1
        size = param.numel() ** 0.5
        rate = max(eps2, param.norm(2).item() / size) * min(lr, 1 / step**0.5)
        param.mul_(1 - lr * group["weight_decay"])
        update = self._variance(grad, state, step ** group["beta2_decay"], eps1)
        update = update.clamp_(min=eps1 * eps1).rsqrt_().mul_(grad)
        largest = max(1.0, update.norm(2).item() / (size * group["d"]))
        param.add_(update, alpha=-rate / largest)

    @staticmethod
    def _variance(grad, state, share, eps):
        """The running second moment, a ``share`` of it from this gradient."""
        if grad.dim() <= 1:
            return state["variance"].lerp_(grad.square(), share).clone()
        means = [grad.norm(dim=dim, keepdim=True).square_().div_(grad.size(dim)) for dim in (-1, -2)]
        row, col = state["row_var"].lerp_(means[0], share), state["col_var"].lerp_(means[1], share)
        return (row @ col).div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps))
