"""What almost all optimizers share: their options' checks and defaults, and the walk over the groups."""

import ms_adapter.pytorch as torch
from ms_adapter.capture import numbers

from .optimizer import Optimizer, _use_grad_for_differentiable, check_option, native

# Options that files older than them lack.
_LATER_FLAGS = ("maximize", "differentiable", "capturable", "nesterov", "amsgrad", "decoupled_weight_decay")
_LATER_VARIANTS = ("foreach", "fused")


def options_of(arguments):
    """The options among a constructor's arguments, which are ``locals()`` at its start."""
    return {name: arguments[name] for name in arguments if name not in ("self", "params", "__class__")}


class Stepping(Optimizer):
    """Base of optimizers that step group by group: a subclass says how in ``_step_group``."""

    _counts_in_tensors = True  # whether the state's "step" is a tensor

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
            for name, value in [(n, False) for n in _LATER_FLAGS] + [(n, None) for n in _LATER_VARIANTS]:
                if name in self.defaults:
                    group.setdefault(name, value)
            for param in group["params"] if self._counts_in_tensors else ():
                own = self.state.get(param, {})
                if "step" in own and not isinstance(own["step"], torch.Tensor):
                    own["step"] = counter(float(own["step"]))

    @_use_grad_for_differentiable
    def step(self, closure=None):
        """One step; ``closure`` computes the gradients anew and returns the loss."""
        loss = self._run_closure(closure)
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if not params:
                continue
            if group.get("capturable") and any(param.device.type == "cpu" for param in params):
                raise AssertionError(
                    "If capturable=True, params and state_steps must be on an accelerator, not on cpu: leave "
                    "capturable out."
                )
            self._step_group(group, params)
        return loss

    def _step_group(self, group, params):
        """Step the parameters of a group that have gradients."""
        raise NotImplementedError(f"{type(self).__name__} does not define _step_group().")


def step_in_core(function, group, params, states, columns, counts, options):
    """Step the parameters in one pass over each; False where the step must be composed of operators.

    ``columns`` names the states that are tensors like the parameter (None: an option left it out), ``counts``
    those of one number.
    """
    options = {"lr": group["lr"], "weight_decay": group.get("weight_decay", 0), **options}
    if "betas" in group:
        options["beta1"], options["beta2"] = group["betas"]
    kernel = native(function, params, options.values())
    if kernel is None:
        return False
    options.update(maximize=group["maximize"], decoupled=group.get("decoupled_weight_decay", False))
    tensors = [params, [param.grad for param in params]]
    tensors += [[] if name is None else [state[name] for state in states] for name in columns]
    if any(param.is_complex() for param in params):  # pairs of reals
        tensors = [[torch.view_as_real(t) if t.is_complex() else t for t in column] for column in tensors]
    kernel(*tensors[:2], tuple(tensors[2:]), tuple([s[name] for s in states] for name in counts), options)
    return True


def recorded_rate(optimizer, group, lr):
    """The learning rate for a graph that is recorded: a number is an input, read again before each run."""
    if isinstance(lr, torch.Tensor):
        return lr
    place = next(i for i, own in enumerate(optimizer.param_groups) if own is group)
    return numbers.number_input(("lr", id(optimizer), place), lambda: optimizer.param_groups[place]["lr"])


def steps_done(state):
    """The count of steps as a number; as a tensor while a graph is recorded."""
    return state["step"] if numbers.recording() else state["step"].item()


def move(param, direction, rate):
    """Step against a direction; the rate of a graph that is recorded is a tensor."""
    if numbers.recording():
        param.sub_(direction * rate)
    else:
        param.add_(direction, alpha=-rate)


def move_by_ratio(param, direction, root, rate):
    """Step against the ratio of two tensors."""
    if numbers.recording():
        param.sub_(direction / root * rate)
    else:
        param.addcdiv_(direction, root, value=-rate)


def counter(start=0.0):
    """A state entry of one number that steps move on: float32, or float64 where that is the default."""
    double = torch.get_default_dtype() == torch.float64
    return torch.tensor(start, dtype=torch.float64 if double else torch.float32)


def zeros_of(param):
    """A state entry that starts at zero."""
    return torch.zeros_like(param, memory_format=torch.preserve_format)


def check_betas(betas):
    """Complain of betas outside [0, 1)."""
    for index, beta in enumerate(betas):
        check_option(f"beta parameter at index {index}", beta, 0.0 <= beta < 1.0)
