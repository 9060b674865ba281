"""The base of all optimizers: parameter groups, state, hooks, saving and loading."""

import functools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Iterable
from copy import deepcopy
from itertools import chain
from typing import Any, TypeAlias

import ms_adapter.pytorch as torch

from ..utils.hooks import RemovableHandle

_global_optimizer_pre_hooks = OrderedDict()
_global_optimizer_post_hooks = OrderedDict()
_HOOK_DICTS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)

ParamsT: TypeAlias = Iterable[torch.Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, torch.Tensor]]


class _Required:
    """Marks an option without a default."""

    def __repr__(self):
        return "<required parameter>"


required = _Required()


def _add(hooks, hook, prepend=False):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_optimizer_step_pre_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` before each step of every optimizer."""
    return _add(_global_optimizer_pre_hooks, hook)


def register_optimizer_step_post_hook(hook):
    """Call ``hook(optimizer, args, kwargs)`` after each step of every optimizer."""
    return _add(_global_optimizer_post_hooks, hook)


def _to_scalar(value):
    """A one-element tensor option as a 0-d one; anything else as it is."""
    return value.squeeze() if isinstance(value, torch.Tensor) and value.dim() != 0 else value


def _with_hooks(step):
    """``step`` with the hooks around it; args seen by hooks include the optimizer, as PyTorch's do."""

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        self = args[0]
        for hook in chain(_global_optimizer_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            answer = hook(self, args, kwargs)
            if answer is None:
                continue
            if not (isinstance(answer, tuple) and len(answer) == 2):
                raise RuntimeError(
                    f"{step} must return None or a tuple of (new_args, new_kwargs), but got {answer}."
                )
            args, kwargs = answer
        result = step(*args, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _global_optimizer_post_hooks.values()):
            hook(self, args, kwargs)
        return result

    wrapper.hooked = True
    return wrapper


def _use_grad_for_differentiable(step):
    """Runs a step with recording off, or on where the optimizer is ``differentiable``."""

    @functools.wraps(step)
    def wrapper(*args, **kwargs):
        with torch.set_grad_enabled(args[0].defaults.get("differentiable", False)):
            return step(*args, **kwargs)

    return wrapper


class Optimizer:
    """Base class of all optimizers.

    Args:
        params: parameters, pairs of name and parameter, or dictionaries (groups) with "params" and options.
        defaults: options of groups that do not have their own.
    """

    def __init__(self, params, defaults):
        self.defaults = defaults
        for name in _HOOK_DICTS:
            setattr(self, name, OrderedDict())
        self._patch_step_function()
        if isinstance(params, torch.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + torch.typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _patch_step_function(self):
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _with_hooks(cls.step)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for name in _HOOK_DICTS:
            self.__dict__.setdefault(name, OrderedDict())
        self._patch_step_function()

    def __repr__(self):
        text = f"{type(self).__name__} ("
        for number, group in enumerate(self.param_groups):
            text += f"\nParameter Group {number}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"

    def register_step_pre_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` before each step; it may return new args and kwargs."""
        return _add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call ``hook(optimizer, args, kwargs)`` after each step."""
        return _add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call ``hook(optimizer)`` before ``state_dict``."""
        return _add(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call ``hook(optimizer, state_dict)`` after ``state_dict``; it may return a new one."""
        return _add(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call ``hook(optimizer, state_dict)`` before loading; it may return a new one."""
        return _add(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call ``hook(optimizer)`` after loading."""
        return _add(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def state_dict(self):
        """The state by parameter number, and the groups' options with the numbers of their parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers, start, groups = {}, 0, []
        for group in self.param_groups:
            for number, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), number)
            packed = {key: value for key, value in group.items() if key != "params"}
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            start += len(group["params"])
            groups.append(packed)
        state = {numbers[id(k)] if isinstance(k, torch.Tensor) else k: v for k, v in self.state.items()}
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            answer = hook(self, result)
            result = result if answer is None else answer
        return result

    def load_state_dict(self, state_dict):
        """Take back what :meth:`state_dict` gave; the groups must have as many parameters as there."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            answer = hook(self, state_dict)
            state_dict = state_dict if answer is None else answer
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(
            len(group["params"]) != len(other["params"]) for group, other in zip(groups, saved, strict=True)
        ):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's "
                "group"
            )
        owners = {}
        for group, other in zip(groups, saved, strict=True):
            for param, number in zip(group["params"], other["params"], strict=True):
                owners[number] = param, other
        state = defaultdict(dict)
        for number, value in state_dict["state"].items():
            if number in owners:
                param, options = owners[number]
                state[param] = _fit(param, value, options)
            else:
                state[number] = value
        for group, other in zip(groups, saved, strict=True):
            other["params"] = group["params"]
            if "param_names" in group:
                other.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def zero_grad(self, set_to_none=True):
        """Drop the gradients of all parameters, or with ``set_to_none=False`` fill them with zeros."""
        for group in self.param_groups:
            for param in group["params"]:
                grad = param.grad
                if grad is None:
                    continue
                if set_to_none:
                    param.grad = None
                elif grad.grad_fn is not None:
                    grad.detach_().zero_()
                else:
                    grad.requires_grad_(False).zero_()

    @property
    def parameters(self):
        """All parameters of all groups, in order: MindSpore's name for them."""
        return [p for group in self.param_groups for p in group["params"]]

    def __call__(self, grads):
        """One step by these gradients, one for each of :attr:`parameters`, as MindSpore's optimizers take
        them.

        >>> import ms_adapter.pytorch as torch
        >>> w = torch.nn.Parameter(torch.ones(2))
        >>> torch.optim.SGD([w], lr=0.5)([torch.ones(2)])
        >>> w.detach()
        tensor([0.5000, 0.5000])
        """
        params, grads = self.parameters, list(grads)
        if len(grads) != len(params):
            raise ValueError(f"optimizer: {len(grads)} gradients were given for {len(params)} parameters.")
        before = [p.grad for p in params]
        for p, grad in zip(params, grads, strict=True):
            p.grad = grad
        self.step()
        for p, grad in zip(params, before, strict=True):
            p.grad = grad

    def step(self, closure=None):
        """Change the parameters by their gradients; ``closure`` computes them anew and returns the loss."""
        raise NotImplementedError(f"{type(self).__name__} does not define step().")

    @staticmethod
    def _run_closure(closure):
        if closure is None:
            return None
        with torch.enable_grad():
            return closure()

    def add_param_group(self, param_group):
        """Add a group: a dictionary with "params" and its own options.

        >>> import ms_adapter.pytorch as torch
        >>> a, b = torch.nn.Linear(1, 1), torch.nn.Linear(1, 1)
        >>> optimizer = torch.optim.SGD(a.parameters(), lr=0.1)
        >>> optimizer.add_param_group({"params": b.parameters(), "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        self._take_params(param_group)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        mine = set(param_group["params"])
        if len(mine) != len(param_group["params"]):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause "
                "an error",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                kind = "with names" if "param_names" in param_group else "without names"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{kind} to the optimizer"
                )
            if not mine.isdisjoint(group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _take_params(self, group):
        """Make a list of the group's parameters, and one of their names where they have any."""
        given = group["params"]
        if isinstance(given, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will change between runs. Please use a list instead."
            )
        given = [given] if isinstance(given, torch.Tensor) else list(given)
        names = [item[0] for item in given if isinstance(item, tuple)]
        params = [item[1] if isinstance(item, tuple) else item for item in given]
        if names and len(names) != len(params):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        for param in params:
            if not isinstance(param, torch.Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is {torch.typename(param)}"
                )
            if not self.defaults.get("differentiable") and not (param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        group["params"] = params
        if names:
            group["param_names"] = names


def _fit(param, value, options, key=None):
    """A loaded value as ``param`` needs it: on its device and, unless it is a step count, of its dtype."""
    if isinstance(value, torch.Tensor):
        if key == "step":
            on_device = options.get("capturable") or options.get("fused")
            return value.to(dtype=torch.float32, device=param.device) if on_device else value
        dtype = param.dtype if param.is_floating_point() else value.dtype
        return value.to(dtype=dtype, device=param.device)
    if isinstance(value, dict):
        return {k: _fit(param, v, options, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str):
        return type(value)(_fit(param, v, options) for v in value)
    return value


def check_option(name, value, valid):
    """Complain of an option out of range."""
    if not valid:
        raise ValueError(f"Invalid {name}: {value}")


def check_variants(foreach, fused, differentiable):
    """Complain of variants that exclude each other; all of them run the same pass here."""
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")


def _is_dispatched(p):
    """Whether a parameter's operators are its class's."""
    return (
        type(p) is not torch.nn.Parameter
        and type(p).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
    )


def native(function, params, options):
    """The core's pass over the parameters, or None where the step must be composed of operators.

    Composed: tensor-valued options, ``differentiable``, sparse gradients, ``__torch_dispatch__``, and
    parameters on another device, whose own operators take the step. A recorded graph wants operators too.
    """
    from ms_adapter import _C

    plain = not any(isinstance(option, torch.Tensor) for option in options)
    if (
        not plain
        or torch.is_grad_enabled()
        or _C.capture.active()
        or any(p.grad.is_sparse or not p.is_cpu or _is_dispatched(p) for p in params)
    ):
        return None
    return getattr(_C.optim, function)
