"""Modules as functions of their parameters: functional_call and stack_module_state."""

import contextlib

import ms_adapter.pytorch as torch


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """The module's output with these parameters and buffers in the place of its own.

    Args:
        parameter_and_buffer_dicts: ``{name: tensor}``, or a sequence of such dicts. Names that are left out
            keep their own tensors; buffers that the call replaces are written back into the dict.
        args, kwargs: of the call; ``args`` that is no tuple is the one argument.
        tie_weights: parameters that the module shares under several names stay shared.
        strict: raise RuntimeError for names that are missing or not the module's.

    >>> import ms_adapter.pytorch as torch
    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.tensor([1.0, 2.0]))
    tensor([3.])
    """
    tensors = _merged(parameter_and_buffer_dicts)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, tensors, tie_weights=tie_weights, strict=strict):
        return module(*args, **(kwargs or {}))


def _merged(dicts):
    if isinstance(dicts, dict):
        return dicts
    if not isinstance(dicts, (list, tuple)):
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(dicts)}"
        )
    if not all(isinstance(one, dict) for one in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    repeated = [
        name for i, one in enumerate(dicts) for name in one if any(name in other for other in dicts[:i])
    ]
    if repeated:
        raise ValueError(
            f"{repeated[0]} appears in multiple dictionaries; behavior of functional call is ambiguous"
        )
    return {name: tensor for one in dicts for name, tensor in one.items()}


def _own_tensors(module):
    """Every name of a parameter or buffer, shared ones under all of their names."""
    named = dict(module.named_parameters(remove_duplicate=False))
    return named | dict(module.named_buffers(remove_duplicate=False))


def _untied(own, given):
    """``given`` with each tensor under all the names that its original has."""
    names_of = {}
    for name, tensor in own.items():
        names_of.setdefault(id(tensor), []).append(name)
    complete = dict(given)
    for name in given:
        if name not in own:
            continue
        tied = [other for other in names_of[id(own[name])] if other != name]
        for other in tied:
            if other in given and given[other] is not given[name]:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted([name, other])}, which are tied. "
                    "Consider using tie_weights=False"
                )
            complete[other] = given[name]
    return complete


def _check_names(own, given, strict):
    unknown = [name for name in given if name not in own]
    missing = [name for name in own if name not in given]
    if strict and (unknown or missing):
        raise RuntimeError(
            "Error(s) in loading state_dict: "
            + (f"Unexpected key(s): {', '.join(map(repr, unknown))}. " if unknown else "")
            + (f"Missing key(s): {', '.join(map(repr, missing))}." if missing else "")
        )


def _place(module, name):
    """The dict of a submodule that holds the tensor, and its name there; None where there is none."""
    path, _, last = name.rpartition(".")
    try:
        owner = module.get_submodule(path)
    except AttributeError:
        return None
    for held in (owner._parameters, owner._buffers):
        if last in held:
            return held, last
    return None


@contextlib.contextmanager
def _reparametrize_module(
    module, parameters_and_buffers, *, tie_weights=False, strict=False, stack_weights=False
):
    own = _own_tensors(module)
    tensors = _untied(own, parameters_and_buffers) if tie_weights else parameters_and_buffers
    _check_names(own, tensors, strict)
    kept = []
    try:
        for name, tensor in tensors.items():
            place = _place(module, name)
            if place is None:  # a name that is not strict's to refuse
                continue
            held, last = place
            kept.append((held, last, held[last], name))
            held[last] = tensor
        yield
    finally:
        for held, last, before, name in reversed(kept):
            if name in parameters_and_buffers:
                parameters_and_buffers[name] = held[last]
            held[last] = before


def stack_module_state(models):
    """``(params, buffers)``: each of the models' tensors stacked along a new first dimension, by name.

    Maps with ``vmap`` over :func:`functional_call` as an ensemble. The stacked parameters require gradients
    where the models' do.

    >>> import ms_adapter.pytorch as torch
    >>> params, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 3) for _ in range(4)])
    >>> params["weight"].shape
    torch.Size([4, 3, 2])
    """
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(m.training for m in models) or not any(m.training for m in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = {
        name: _stacked([dict(m.named_parameters())[name] for m in models])
        for name, _ in models[0].named_parameters()
    }
    buffers = {
        name: _stacked([dict(m.named_buffers())[name] for m in models])
        for name, _ in models[0].named_buffers()
    }
    return params, buffers


def _stacked(tensors):
    needs = [t.requires_grad for t in tensors]
    if not any(needs):
        return torch.stack(tensors).detach()
    if not all(needs):
        raise RuntimeError("Expected parameters and buffers to have the same requires_grad for each model")
    return torch.stack([t.detach() for t in tensors]).requires_grad_()
