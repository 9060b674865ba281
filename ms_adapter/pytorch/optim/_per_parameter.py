"""Optimizers whose step is a formula over tensor operators, one parameter at a time."""

import ms_adapter.pytorch as torch
from ms_adapter.capture import numbers

from ._stepping import Stepping, counter, recorded_rate, step_in_core, zeros_of
from .optimizer import _to_scalar


class PerParameter(Stepping):
    """Base of those optimizers: subclasses say what they keep (``_start``) and how they step (``_update``).

    Where the core has the step (``_kernel``) it makes one pass over each parameter, else the formula runs
    operator by operator; the numbers are the same. Complex parameters are stepped as pairs of
    reals. ``foreach`` and ``fused`` are accepted and change nothing.
    """

    _takes_complex, _takes_sparse = True, False
    _kernel = None  # the core's function
    _counts = ("step",)  # states of one number, the steps first
    _kept = ()  # states like the parameter, in the core's order
    _numbers = ()  # options that the core wants beside the common ones and betas

    def _step_group(self, group, params):
        states = [self._own_state(param, group) for param in params]
        if self._kernel:
            columns, numbers = self._columns(group), self._options(group)
            if step_in_core(self._kernel, group, params, states, columns, self._counts, numbers):
                return
        for param, state in zip(params, states, strict=True):
            self._step_parameter(param, state, group)

    def _own_state(self, param, group):
        if param.grad.is_sparse and not self._takes_sparse:
            raise RuntimeError(f"{type(self).__name__} does not support sparse gradients")
        if param.is_complex() and not self._takes_complex:
            raise RuntimeError(f"{type(self).__name__} does not support complex parameters")
        state = self.state[param]
        if not state:
            state["step"] = counter()
            self._start(param, state, group)
        return state

    def _step_parameter(self, param, state, group):
        lr = _to_scalar(group["lr"])
        if numbers.recording():
            state, lr = self._recorded(state, group, lr)
        else:
            state["step"] += 1
        grad = -param.grad if group["maximize"] else param.grad
        grad = self._decay(param, grad, group, lr)
        seen = state
        if param.is_complex():
            param, grad = torch.view_as_real(param), torch.view_as_real(grad)
            seen = {k: torch.view_as_real(v) if v.is_complex() else v for k, v in state.items()}
        self._update(param, grad, seen, group, lr)

    def _recorded(self, state, group, lr):
        """State and learning rate for a graph: the count of steps and the rate come in anew at each run."""
        return {**state, "step": numbers.counter_input(state["step"])}, recorded_rate(self, group, lr)

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
        if isinstance(decay, torch.Tensor) and decay.requires_grad:
            return grad.addcmul(param.clone(), decay)
        return grad.add(param, alpha=decay)

    def _columns(self, group):
        """The names of ``_kept`` with None for those that an option leaves out."""
        return self._kept

    def _options(self, group):
        return {name: group[name] for name in self._numbers}

    def _start(self, param, state, group):
        """Put what the optimizer keeps for ``param`` into ``state``."""
        for name in self._columns(group):
            if name is not None:
                state[name] = zeros_of(param)

    def _update(self, param, grad, state, group, lr):
        """Step ``param`` along ``grad``; ``state["step"]`` counts this step."""
        raise NotImplementedError
