"""What `import functorch` finds under the runner: torch.func's transforms in their first package."""

import copy
import functools
import warnings

from ms_adapter.pytorch import __version__, func, nn
from ms_adapter.pytorch.fx.experimental.proxy_tensor import make_fx

__all__ = [
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "vjp",
    "vmap",
    "__version__",
]


def _moved(name):
    """The transform of torch.func, which says where it went, as PyTorch's does."""
    transform = getattr(func, name)

    @functools.wraps(transform)
    def called(*args, **kwargs):
        _warn(name, f"torch.func.{name}")
        return transform(*args, **kwargs)

    return called


def _warn(name, instead):
    warnings.warn(f"functorch.{name} is deprecated: use {instead}.", FutureWarning, stacklevel=3)


functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, vjp, vmap = map(
    _moved,
    ("functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"),
)


class _Functional:
    """A module that is given its parameters, and its buffers where it was made with them, at each call."""

    def __init__(self, model, names):
        self.stateless_model, self.names = copy.deepcopy(model).requires_grad_(False), names

    def __call__(self, *args, **kwargs):
        states, args = args[: len(self.names)], args[len(self.names) :]
        dicts = [
            dict(zip(names, state, strict=True)) for names, state in zip(self.names, states, strict=True)
        ]
        return func.functional_call(self.stateless_model, dicts, args, kwargs)


def make_functional(model: nn.Module, disable_autograd_tracking: bool = False):
    """`(function, parameters)` with `function(parameters, *args)` for a module without buffers.

    >>> import ms_adapter.pytorch as torch
    >>> function, (weight,) = make_functional(torch.nn.Linear(2, 1, bias=False))
    >>> function((torch.ones(1, 2),), torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    _warn("make_functional", "torch.func.functional_call")
    if any(True for _ in model.buffers()):
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Use make_functional_with_buffers(model) instead."
        )
    names, parameters = _state(model.named_parameters(), disable_autograd_tracking)
    return _Functional(model, [names]), parameters


def make_functional_with_buffers(model: nn.Module, disable_autograd_tracking: bool = False):
    """`(function, parameters, buffers)` with `function(parameters, buffers, *args)`."""
    _warn("make_functional_with_buffers", "torch.func.functional_call")
    names, parameters = _state(model.named_parameters(), disable_autograd_tracking)
    buffer_names, buffers = _state(model.named_buffers())
    return _Functional(model, [names, buffer_names]), parameters, buffers


def _state(named, detached=False):
    """Names and copies: what is done to them does not reach the module that was given."""
    named = dict(named)
    return list(named), tuple(t.detach() if detached else t for t in copy.deepcopy(list(named.values())))


def combine_state_for_ensemble(models):
    """`(function, parameters, buffers)` of modules of one kind, their tensors stacked for vmap."""
    _warn("combine_state_for_ensemble", "torch.func.stack_module_state")
    function, _, _ = make_functional_with_buffers(models[0])
    parameters, buffers = func.stack_module_state(models)
    return function, *(tuple(t.detach() for t in state.values()) for state in (parameters, buffers))
