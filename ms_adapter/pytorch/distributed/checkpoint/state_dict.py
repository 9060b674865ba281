"""States of models as sharded training asks for them; in one process they are the module's own."""

from dataclasses import dataclass

from ..._missing import attach

__all__ = ["StateDictOptions", "get_model_state_dict", "set_model_state_dict"]


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


attach(__name__)  # optimizers' states are placeholders
