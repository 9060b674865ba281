"""Optimizers whose step is a formula over tensor operators, one parameter at a time."""

import ms_adapter.pytorch as torch

from ._stepping import Stepping
from .optimizer import _to_scalar


class PerParameter(Stepping):
    """Base of those optimizers: subclasses say what they keep (``_start``) and how they step (``_update``).

    Complex parameters are stepped as pairs of reals. ``foreach`` is accepted: the numbers are the same.
    """

    _takes_complex, _takes_sparse = True, False

    def _step_group(self, group, params):
        for param in params:
            self._step_parameter(param, group)

    def _step_parameter(self, param, group):
        if param.grad.is_sparse and not self._takes_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        if param.is_complex() and not self._takes_complex:
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        state = self.state[param]
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            self._start(param, state, group)
        state["step"] += 1
        lr = _to_scalar(group["lr"])
        grad = -param.grad if group["maximize"] else param.grad
        grad = self._decay(param, grad, group, lr)
        seen = state
        if param.is_complex():
            param, grad = torch.view_as_real(param), torch.view_as_real(grad)
            seen = {k: torch.view_as_real(v) if v.is_complex() else v for k, v in state.items()}
        self._update(param, grad, seen, group, lr)

    def _decay(self, param, grad, group, lr):
        """Weight decay: into the gradient that is returned, or where it is decoupled into ``param``."""
        decay = group.get("weight_decay", 0)
        if decay == 0:
            return grad
        if group.get("decoupled_weight_decay"):
            param.mul_(1 - lr * decay)
            return grad
        if grad.is_sparse:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        return grad.add(param, alpha=decay)

    def _start(self, param, state, group):
        """Put what the optimizer keeps for ``param`` into ``state``."""
        raise NotImplementedError

    def _update(self, param, grad, state, group, lr):
        """Step ``param`` along ``grad``; ``state["step"]`` counts this step."""
        raise NotImplementedError
