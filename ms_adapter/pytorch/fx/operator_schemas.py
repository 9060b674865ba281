"""Signatures of what nodes call, and arguments by these."""

import inspect
import typing

import ms_adapter.pytorch as torch

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(typing.NamedTuple):
    """Arguments by a function's parameters."""

    args: tuple
    kwargs: dict


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of an operator's overloads, or None of other functions.

    >>> import ms_adapter.pytorch as torch
    >>> [str(s) for s in get_signature_for_torch_op(torch.relu)]
    ['(input)']
    """
    from ms_adapter.pytorch.ops._schemas import overloads_of

    schemas = overloads_of(op)
    if not schemas:
        return (None, None) if return_schemas else None
    signatures = [schema.signature() for schema in schemas]
    return (signatures, schemas) if return_schemas else signatures


def normalize_function(
    target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
):
    """(args, kwargs) by the function's parameters, or None where no signature takes them."""
    kwargs = {} if kwargs is None else kwargs
    signatures = get_signature_for_torch_op(target)
    if signatures is None:
        try:
            signatures = [inspect.signature(target)]
        except (TypeError, ValueError):
            return None
    for signature in signatures:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            continue
        return _normalized(signature, bound, normalize_to_only_use_kwargs)
    return None


def _normalized(signature, bound, only_kwargs):
    bound.apply_defaults()
    args, kwargs = [], {}
    for name, parameter in signature.parameters.items():
        value = bound.arguments[name]
        if parameter.kind == parameter.VAR_POSITIONAL:
            args.extend(value)
        elif parameter.kind == parameter.VAR_KEYWORD:
            kwargs.update(value)
        elif parameter.kind == parameter.KEYWORD_ONLY or only_kwargs:
            kwargs[name] = value
        else:
            args.append(value)
    return ArgsKwargsPair(tuple(args), kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The same for the call of a submodule, by its forward's parameters."""
    module = root.get_submodule(target)
    if not isinstance(module, torch.nn.Module):
        return None
    return normalize_function(
        module.forward, args, kwargs, normalize_to_only_use_kwargs=normalize_to_only_use_kwargs
    )
