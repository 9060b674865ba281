"""Calls as a user writes them: arguments, operators, conversions, errors, compared with PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from call_cases import CALLS

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch")


def described(value: object) -> object:
    """A value as plain data, so that both sides' tensors compare."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        value = value.detach()
        return str(value.dtype), tuple(value.shape), tuple(value.stride()), repr(value.tolist())
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [described(item) for item in value]
    return type(value).__name__, repr(value)


def outcome(module: object, call: str) -> tuple[str, object]:
    """What a call gives, or the type of the exception that it raises."""
    *statements, expression = (part.strip() for part in call.split(";;"))
    names = {"torch": module, "np": np}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for statement in statements:
                exec(statement, names)
            return "gives", described(eval(expression, names))
        except (NameError, SyntaxError):  # a slip in the case itself
            raise
        except Exception as error:
            return "raises", type(error).__name__


@pytest.mark.parametrize("call", [line for line in CALLS.splitlines() if line])
def test_call(call: str) -> None:
    assert outcome(ours, call) == outcome(torch, call)
