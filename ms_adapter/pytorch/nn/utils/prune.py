"""Pruning: zeros kept in chosen places of a module's parameters."""

from collections.abc import Iterable

import ms_adapter.pytorch as torch

from ._pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    _take_hook,
)

for _value in list(vars().values()):
    if isinstance(_value, type) and issubclass(_value, BasePruningMethod):
        _value.__module__ = __name__  # where pickled modules look for it


def identity(module, name):
    """Set up pruning of ``name`` with a mask of ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prune an amount of the elements of ``name``, a share or a count, at random."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prune the elements nearest to zero, or of the lowest ``importance_scores``.

    >>> import ms_adapter.pytorch as torch
    >>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5)
    >>> int((layer.weight == 0).sum()), sorted(layer.state_dict())
    (3, ['bias', 'weight_mask', 'weight_orig'])
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prune an amount of the channels along ``dim`` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prune the channels along ``dim`` of the smallest ``n``-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prune where ``mask`` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prune over several tensors at once, pairs of module and name, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    parameters = list(parameters)
    values = [scores.get(pair, getattr(*pair)) for pair in parameters]
    masks = [
        getattr(module, name + "_mask", torch.ones_like(getattr(module, name))) for module, name in parameters
    ]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"  # no module has it: only the mask is wanted
    container.add_pruning_method(method)
    flat = [torch.nn.utils.parameters_to_vector(tensors) for tensors in (values, masks)]
    mask, start = container.compute_mask(*flat), 0
    for module, name in parameters:
        param = getattr(module, name)
        custom_from_mask(module, name, mask[start : start + param.numel()].view_as(param))
        start += param.numel()


def remove(module, name):
    """Make a pruned tensor an ordinary parameter again; its zeros stay."""
    method = _take_hook(module, name)
    if method is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    method.remove(module)
    return module


def is_pruned(module):
    """Whether anything in the module is pruned."""
    return any(
        isinstance(hook, BasePruningMethod)
        for part in module.modules()
        for hook in part._forward_pre_hooks.values()
    )
