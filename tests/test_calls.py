"""Calls as a user writes them: arguments, operators, conversions, errors, compared with PyTorch."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from call_cases import CALLS
from memory_cases import MEMORY_CALLS
from name_cases import NAME_CALLS

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


@pytest.mark.parametrize("call", [line for line in (CALLS + MEMORY_CALLS + NAME_CALLS).splitlines() if line])
def test_call(call: str) -> None:
    assert outcome(ours, call) == outcome(torch, call)


def test_a_refused_resize_leaves_the_tensor_as_it_was() -> None:
    x = ours.zeros(2)
    with pytest.raises(RuntimeError), pytest.warns(UserWarning, match="resized"):
        ours.add(ours.ones(1).expand(2**50), 1, out=x)
    assert x.shape == (2,) and x.tolist() == [0, 0]


def test_an_input_given_as_out_is_read_before_it_is_resized() -> None:
    x = ours.arange(6.0).view(2, 3)
    with pytest.warns(UserWarning, match="resized"):
        ours.mm(x, ours.ones(3, 4), out=x)
    assert x.tolist() == [[3] * 4, [12] * 4]


def test_a_list_that_shrinks_while_it_is_read() -> None:
    class Item:
        def __index__(self) -> int:
            items.clear()
            return 1

    items = [Item(), 2, 3]
    with pytest.raises(ValueError, match="changed while"):
        ours.tensor(items, dtype=ours.int64)
