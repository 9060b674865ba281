"""Schemas from the annotations of Python functions."""

import collections.abc
import inspect
import types
import typing

import ms_adapter.pytorch as torch

from ..ops._schemas import default_text

__all__ = ["infer_schema"]

_UNION = (typing.Union, types.UnionType)
_LISTS = (list, typing.List, collections.abc.Sequence, typing.Sequence)  # noqa: UP006 - what others may write


def _number(kind):
    """Whether an annotation is torch.types.Number: any of int, float and bool."""
    return typing.get_origin(kind) in _UNION and set(typing.get_args(kind)) == {int, float, bool}


def _plain_types():
    return {
        torch.Tensor: "Tensor",
        int: "SymInt",
        float: "float",
        bool: "bool",
        str: "str",
        torch.dtype: "ScalarType",
        torch.device: "Device",
        torch.types.Number: "Scalar",
    }


def _type_text(kind):
    """The schema's type for an annotation, or None."""
    plain = _plain_types()
    if _number(kind):
        return "Scalar"
    if isinstance(kind, typing.Hashable) and kind in plain:
        return plain[kind]
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in _UNION and len(args) == 2 and type(None) in args:
        inner = _type_text(next(a for a in args if a is not type(None)))
        return inner and f"{inner}?"
    if origin in _LISTS and len(args) == 1:
        inner = _type_text(args[0])
        return inner and not inner.endswith("]") and f"{inner}[]"
    return None


def _returns_text(kind, fail):
    if kind in (None, type(None)):
        return "()"
    if typing.get_origin(kind) is tuple:
        args = typing.get_args(kind)
        if args == () or args == ((),):
            return "()"
        parts = [_type_text(a) for a in args]
        if any(part is None or part.endswith("]") for part in parts):
            fail(f"Return has unsupported type {kind}.")
        return f"({', '.join(parts)})"
    text = _type_text(kind)
    if text is None or text.endswith("?"):
        fail(
            f"Return has unsupported type {kind}. The valid types are: Tensor, list[Tensor], numbers, "
            "and tuples."
        )
    return text


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function, from its annotations; ``mutates_args`` names the tensors that it writes to.

    ValueError where an annotation is missing or stands for nothing an operator can take.

    >>> import ms_adapter.pytorch as torch
    >>> def scale(x: torch.Tensor, by: float = 2.0) -> torch.Tensor:
    ...     return x * by
    >>> torch.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by=2.) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function, localns=_local_names())

    def fail(what):
        raise ValueError(f"infer_schema(func): {what} Got func with signature {signature})")

    unknown = set() if mutates_args == "unknown" else set(mutates_args) - set(signature.parameters)
    if unknown:
        fail(f"{sorted(unknown)} in mutates_args are not parameters.")
    parts, seen_star = [], False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is parameter.empty:
            fail(f"Parameter {name} must have a type annotation.")
        if parameter.kind == parameter.KEYWORD_ONLY and not seen_star:
            parts.append("*")
            seen_star = True
        text = _type_text(hints[name])
        if not text:
            fail(f"Parameter {name} has unsupported type {parameter.annotation}.")
        written = text.startswith("Tensor") if mutates_args == "unknown" else name in mutates_args
        if written and not text.startswith("Tensor"):
            fail(
                f"Parameter {name} is in mutates_args but only Tensors or collections of Tensors can be "
                "mutated."
            )
        if written:
            text = text.replace("Tensor", f"Tensor(a{len(parts)}!)", 1)
        parts.append(f"{text} {name}{_default_text(parameter, fail)}")
    if signature.return_annotation is signature.empty:
        fail("No return type annotation was provided. Please add one.")
    returned = _returns_text(hints.get("return"), fail)
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _default_text(parameter, fail):
    value = parameter.default
    if value is parameter.empty:
        return ""
    if isinstance(value, str):
        return f'="{value}"'
    if isinstance(value, torch.dtype):
        return f"={str(value).removeprefix('torch.')}"
    if isinstance(value, torch.device):
        return f'="{value}"'
    if value is None or isinstance(value, (int, float, bool)):
        return f"={default_text(value)}"
    fail(f"Parameter {parameter.name} has an unsupported default value type {type(value)}.")
    return None


def _local_names():
    return {"torch": torch, "Tensor": torch.Tensor}
