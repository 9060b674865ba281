"""Optimizers whose step is a formula over tensor operators, one parameter at a time."""

import ms_adapter.pytorch as torch

from .optimizer import Optimizer, _to_scalar, _use_grad_for_differentiable, check_option


class PerParameter(Optimizer):
    """Base of those optimizers: subclasses say what they keep (``_start``) and how they step (``_update``).

    Complex parameters are stepped as pairs of reals. ``foreach`` and ``capturable`` are accepted: the numbers
    are the same.
    """

    def __init__(self, params, options):
        lr = options["lr"]
        if isinstance(lr, torch.Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        check_option("learning rate", lr, lr >= 0.0)
        if "weight_decay" in options:
            check_option("weight_decay value", options["weight_decay"], options["weight_decay"] >= 0.0)
        super().__init__(params, options)

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            for name in ("maximize", "differentiable", "capturable"):
                group.setdefault(name, False)
            group.setdefault("foreach", None)
            for param in group["params"]:
                own = self.state.get(param)
                if own and not isinstance(own["step"], torch.Tensor):
                    own["step"] = torch.tensor(float(own["step"]), dtype=torch.float32)

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """One step; ``closure`` computes the gradients anew and returns the loss."""
        loss = self._run_closure(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._step_parameter(param, group)
        return loss

    def _step_parameter(self, param, group):
        if param.grad.is_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        state = self.state[param]
        if not state:
            state["step"] = torch.tensor(0.0, dtype=torch.float32)
            self._start(param, state, group)
        state["step"] += 1
        lr = _to_scalar(group["lr"])
        grad = -param.grad if group["maximize"] else param.grad
        decay = group.get("weight_decay", 0)
        if decay != 0:
            if group.get("decoupled_weight_decay"):
                param.mul_(1 - lr * decay)
            else:
                grad = grad.add(param, alpha=decay)
        seen = state
        if param.is_complex():
            param, grad = torch.view_as_real(param), torch.view_as_real(grad)
            seen = {k: torch.view_as_real(v) if v.is_complex() else v for k, v in state.items()}
        self._update(param, grad, seen, group, lr)

    def _start(self, param, state, group):
        """Put what the optimizer keeps for ``param`` into ``state``."""
        raise NotImplementedError

    def _update(self, param, grad, state, group, lr):
        """Step ``param`` along ``grad``; ``state["step"]`` counts this step."""
        raise NotImplementedError


def zeros_of(param):
    """A state entry that starts at zero."""
    return torch.zeros_like(param, memory_format=torch.preserve_format)


def check_betas(betas):
    """Complain of betas outside [0, 1)."""
    for index, beta in enumerate(betas):
        check_option(f"beta parameter at index {index}", beta, 0.0 <= beta < 1.0)
