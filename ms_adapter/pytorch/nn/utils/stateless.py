"""Calling a module with other tensors in the place of its parameters and buffers."""

import contextlib
import warnings

__all__ = ["functional_call"]


def _owner_of(module, name):
    """(the submodule that holds the tensor ``name``, its name there)."""
    path, _, last = name.rpartition(".")
    return module.get_submodule(path), last


def _tied(module, given):
    """``given`` with a tensor for every other name of the same parameter or buffer too."""
    names = {}
    for walk in (module.named_parameters, module.named_buffers):
        for name, tensor in walk(remove_duplicate=False):
            names.setdefault(id(tensor), []).append(name)
    result = dict(given)
    for same in names.values():
        values = {id(given[name]): given[name] for name in same if name in given}
        if len(values) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(same)}, which are tied: give one, "
                "or pass tie_weights=False."
            )
        for value in values.values():
            result.update(dict.fromkeys(same, value))
    return result


def _check_names(module, given):
    own = [name for walk in (module.named_parameters, module.named_buffers) for name, _ in walk()]
    unexpected, missing = [n for n in given if n not in own], [n for n in own if n not in given]
    if not unexpected and not missing:
        return
    text = f"Error(s) in reparametrizing for {module._get_name()}:"
    for kind, names in (("Unexpected", unexpected), ("Missing", missing)):
        if names:
            text += f"\n\t{kind} key(s): " + ", ".join(f"'{name}'" for name in sorted(names)) + "."
    raise RuntimeError(text)


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, tie_weights=False, strict=False):
    """Inside, the module has these tensors; afterwards its own again."""
    given = _tied(module, parameters_and_buffers) if tie_weights else parameters_and_buffers
    if strict:
        _check_names(module, given)
    absent, undo = object(), []
    try:
        for name, tensor in given.items():
            owner, last = _owner_of(module, name)
            place = next((p for p in (owner._parameters, owner._buffers) if last in p), owner.__dict__)
            undo.append((place, last, place.get(last, absent)))
            place[last] = tensor
        yield
    finally:
        for place, last, before in reversed(undo):
            if before is absent:
                place.pop(last, None)
            else:
                place[last] = before


def _functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, parameters_and_buffers, tie_weights, strict):
        return module(*args, **(kwargs or {}))


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Call ``module`` with the given tensors in the place of its own of these names, as ``torch.func`` does.

    >>> import warnings
    >>> import ms_adapter.pytorch as torch
    >>> warnings.simplefilter("ignore")
    >>> layer = torch.nn.Linear(1, 1)
    >>> tensors = {"weight": torch.tensor([[3.0]]), "bias": torch.tensor([1.0])}
    >>> functional_call(layer, tensors, torch.tensor([[2.0]]))
    tensor([[7.]])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be removed in a "
        "future version of PyTorch. Please use `torch.func.functional_call` instead which is a drop-in "
        "replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )
