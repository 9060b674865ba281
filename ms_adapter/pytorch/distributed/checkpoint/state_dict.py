"""States of models as sharded training asks for them; in one process they are the module's own."""

from dataclasses import dataclass

import ms_adapter.pytorch as torch

from ..._missing import attach

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip


@dataclass
class StateDictOptions:
    """What a state holds and how it is loaded. What concerns several processes changes nothing in one."""

    full_state_dict: bool = False
    cpu_offload: bool = False
    ignore_frozen_params: bool = False
    keep_submodule_prefixes: bool = True
    strict: bool = True
    broadcast_from_rank0: bool = False
    flatten_optimizer_state_dict: bool = False
    dsd_fqn_modifiers: str = "_fqn_modifiers"


def _check(options):
    if options.broadcast_from_rank0 and not options.full_state_dict:
        raise ValueError("full_state_dict must be True when broadcast_from_rank0 is True.")
    return options


def get_model_state_dict(model, *, submodules=None, options=None):
    """``model.state_dict()``, without frozen parameters or copied to ``cpu`` if the options say so.

    >>> import ms_adapter.pytorch as torch
    >>> list(get_model_state_dict(torch.nn.Linear(1, 1)))
    ['weight', 'bias']
    """
    if submodules is not None:
        raise NotImplementedError(
            "get_model_state_dict: submodules is not supported: ask each for its state."
        )
    options = _check(options or StateDictOptions())
    state = dict(model.state_dict())
    if options.ignore_frozen_params:
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                state.pop(name, None)
    if options.cpu_offload:
        state = {k: v.cpu() if hasattr(v, "cpu") else v for k, v in state.items()}
    return state


def set_model_state_dict(model, model_state_dict, *, options=None):
    """``model.load_state_dict(...)``, as strict as the options say; gives the missing and unexpected keys."""
    options = _check(options or StateDictOptions())
    return model.load_state_dict(model_state_dict, strict=options.strict)


def _listed(optimizers):
    return list(optimizers) if isinstance(optimizers, (list, tuple)) else [optimizers]


def _check_for_optimizers(function, submodules, options):
    if submodules is not None:
        raise NotImplementedError(f"{function}: submodules is not supported: ask each for its state.")
    options = _check(options or StateDictOptions())
    if options.flatten_optimizer_state_dict:
        raise NotImplementedError(f"{function}: flatten_optimizer_state_dict is not supported: leave it out.")
    return options


def _names_of(model, optimizer):
    """The parameters' names in the model, group by group; ValueError for one that is not the model's."""
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = [[names.get(id(parameter)) for parameter in group["params"]] for group in optimizer.param_groups]
    if any(name is None for group in groups for name in group):
        raise ValueError("the optimizer has a parameter that the model does not have: give the whole model")
    return groups


def _fill_states(optimizer):
    """Take a step that changes no parameter, so that an optimizer which took none has its states."""
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if optimizer.state or any(parameter.grad is not None for parameter in parameters):
        return
    rates = [group["lr"] for group in optimizer.param_groups]
    for parameter in parameters:
        if parameter.requires_grad:
            parameter.grad = torch.zeros_like(parameter)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = torch.zeros_like(rate) if isinstance(rate, torch.Tensor) else 0.0
    optimizer.step(closure=None)
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    optimizer.zero_grad(set_to_none=True)


def get_optimizer_state_dict(model, optimizers, *, submodules=None, options=None):
    """The optimizers' states, with the parameters' names in the model in place of their numbers.

    >>> import ms_adapter.pytorch as torch
    >>> model = torch.nn.Linear(1, 1)
    >>> state = get_optimizer_state_dict(model, torch.optim.SGD(model.parameters(), 0.1, momentum=0.9))
    >>> state["param_groups"][0]["params"], list(state["state"])
    (['weight', 'bias'], ['weight', 'bias'])
    """
    options = _check_for_optimizers("get_optimizer_state_dict", submodules, options)
    found = {"state": {}, "param_groups": []}
    for optimizer in _listed(optimizers):
        _fill_states(optimizer)
        names, own = _names_of(model, optimizer), optimizer.state_dict()
        flat = [name for group in names for name in group]
        for number, values in own["state"].items():
            if options.cpu_offload:
                values = {k: v.cpu() if isinstance(v, torch.Tensor) else v for k, v in values.items()}
            found["state"][flat[number]] = values
        for group, group_names in zip(own["param_groups"], names, strict=True):
            found["param_groups"].append({**group, "params": group_names})
    return found


def set_optimizer_state_dict(model, optimizers, optim_state_dict, *, options=None):
    """Load what :func:`get_optimizer_state_dict` gave; KeyError for a parameter that it does not have."""
    _check_for_optimizers("set_optimizer_state_dict", None, options)
    for optimizer in _listed(optimizers):
        _fill_states(optimizer)
        own, state, number = optimizer.state_dict(), {}, 0
        for group, names in zip(own["param_groups"], _names_of(model, optimizer), strict=True):
            group.update(_saved_group(optim_state_dict, names), params=group["params"])
            for name in names:
                if name in optim_state_dict["state"]:
                    state[number] = optim_state_dict["state"][name]
                number += 1
        optimizer.load_state_dict({"state": state, "param_groups": own["param_groups"]})


def _saved_group(state, names):
    """The settings of the saved group that has a group's parameters."""
    for group in state["param_groups"]:
        if set(names) <= set(group["params"]):
            return group
    raise KeyError(f"set_optimizer_state_dict: no saved group has the parameters {', '.join(names)}")


def get_state_dict(model, optimizers, *, submodules=None, options=None):
    """The states of the model and of its optimizers."""
    return (
        get_model_state_dict(model, submodules=submodules, options=options),
        get_optimizer_state_dict(model, optimizers, submodules=submodules, options=options),
    )


def set_state_dict(model, optimizers, *, model_state_dict, optim_state_dict, options=None):
    """Load what :func:`get_state_dict` gave; gives the model's missing and unexpected keys."""
    if optim_state_dict:
        set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)


attach(__name__)
