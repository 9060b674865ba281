"""Wrong calls: each raises PyTorch's exception type, with a message that names the values and the way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch", reason="the oracle for exception types is PyTorch")


def leaf(t: Any) -> Any:
    return t.ones(3, requires_grad=True)


def twice(t: Any) -> None:
    y = (leaf(t) ** 2).sum()
    y.backward()
    y.backward()


def changed_since(t: Any) -> None:
    x = leaf(t)
    y = x.exp()
    y.add_(1)
    y.sum().backward()


def no_grad_view(t: Any) -> None:
    x = leaf(t)
    with t.no_grad():
        view = x[:2]
    view.mul_(2)


def inference_leaks(t: Any) -> None:
    with t.inference_mode():
        x = t.ones(2)
    (x * leaf(t)[:2]).sum().backward()


def unused_input(t: Any) -> None:
    t.autograd.grad(leaf(t).sum(), leaf(t))


# what is wrong: (call, words that the message must carry)
CASES: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "shapes that do not broadcast": (lambda t: t.ones(2, 5) + t.ones(3, 5), ("2", "3", "5")),
    "in-place cannot grow": (lambda t: t.ones(3).add_(t.ones(2, 3)), ("3", "2")),
    "matmul sizes": (lambda t: t.ones(2, 3) @ t.ones(4, 5), ("3", "4")),
    "mm of a vector": (lambda t: t.mm(t.ones(3), t.ones(3, 2)), ()),
    "linear sizes": (lambda t: t.nn.functional.linear(t.ones(2, 3), t.ones(5, 4)), ("3", "4")),
    "view of the wrong size": (lambda t: t.ones(2, 3).view(4), ("4",)),
    "view needs a copy": (lambda t: t.ones(2, 3).t().view(6), ("reshape",)),
    "two unknown sizes": (lambda t: t.ones(6).view(-1, -1), ()),
    "expand of a real size": (lambda t: t.ones(2, 3).expand(4, 3), ("2", "4")),
    "cat of different sizes": (lambda t: t.cat([t.ones(2, 3), t.ones(2, 4)]), ("3", "4")),
    "cat of nothing": (lambda t: t.cat([]), ()),
    "stack of different sizes": (lambda t: t.stack([t.ones(2), t.ones(3)]), ("2", "3")),
    "split sizes": (lambda t: t.ones(5).split([2, 2]), ("5",)),
    "dim out of range": (lambda t: t.ones(2, 3).sum(2), ("2", "-2", "1")),
    "the same dim twice": (lambda t: t.ones(2, 3).sum((0, 0)), ("0",)),
    "index out of range": (lambda t: t.ones(3)[5], ("5", "3")),
    "too many indices": (lambda t: t.ones(3)[0, 0], ()),
    "float index": (lambda t: t.ones(3)[t.tensor([0.5])], ()),
    "gather index too large": (lambda t: t.ones(3).gather(0, t.tensor([7])), ("7", "3")),
    "gather index dtype": (lambda t: t.ones(3).gather(0, t.tensor([0.0])), ()),
    "select out of range": (lambda t: t.ones(3).select(0, 4), ()),
    "embedding index": (lambda t: t.nn.functional.embedding(t.tensor([9]), t.ones(4, 2)), ()),
    "class out of range": (lambda t: t.nn.functional.cross_entropy(t.ones(2, 3), t.tensor([0, 3])), ("3",)),
    "conv channels": (lambda t: t.nn.functional.conv2d(t.ones(1, 3, 8, 8), t.ones(4, 2, 3, 3)), ("3", "2")),
    "kernel larger than image": (
        lambda t: t.nn.functional.conv2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 3, 3)),
        ("2", "3"),
    ),
    "pool padding": (lambda t: t.nn.functional.max_pool2d(t.ones(1, 1, 4, 4), 2, padding=2), ()),
    "dropout rate": (lambda t: t.nn.functional.dropout(t.ones(3), 1.5), ("1.5",)),
    "batch_norm of one value": (lambda t: t.nn.BatchNorm1d(3)(t.ones(1, 3)), ()),
    "integer with a gradient": (lambda t: t.ones(3, dtype=t.int64).requires_grad_(), ("float",)),
    "in-place result type": (lambda t: t.ones(3, dtype=t.int64).add_(0.5), ("float32", "int64")),
    "out of the wrong type": (lambda t: t.add(t.ones(2), t.ones(2), out=t.ones(2, dtype=t.int64)), ()),
    "bitwise on floats": (lambda t: t.ones(2) & t.ones(2), ()),
    "bool of several": (lambda t: bool(t.ones(2)), ("ambiguous",)),
    "item of several": (lambda t: t.ones(2).item(), ("2",)),
    "len of a scalar": (lambda t: len(t.tensor(1.0)), ("0-d",)),
    "unknown keyword": (lambda t: t.sum(t.ones(2), dims=0), ("dims",)),
    "missing argument": (lambda t: t.add(t.ones(2)), ()),
    "a string for a tensor": (lambda t: t.add("a", t.ones(2)), ()),
    "a ragged list": (lambda t: t.tensor([[1, 2], [3]]), ()),
    "unknown device": (lambda t: t.ones(2, device="moon"), ("moon",)),
    "backward of a vector": (lambda t: (leaf(t) * 2).backward(), ("scalar",)),
    "backward without a graph": (lambda t: t.ones(1).backward(), ("grad",)),
    "backward twice": (twice, ("retain_graph",)),
    "changed since it was saved": (changed_since, ("modified by an inplace operation",)),
    "in-place on a leaf": (lambda t: leaf(t).add_(1), ("leaf",)),
    "in-place on a view of a leaf made in no_grad": (no_grad_view, ()),
    "inference tensor in autograd": (inference_leaks, ()),
    "grad of what was not used": (unused_input, ("allow_unused",)),
    "requires_grad of a non-leaf": (lambda t: setattr(leaf(t) * 2, "requires_grad", False), ("detach",)),
    "numpy of a tensor with a gradient": (lambda t: leaf(t).numpy(), ("detach",)),
    "parameter of the wrong shape": (
        lambda t: t.nn.Linear(2, 3).load_state_dict(t.nn.Linear(3, 3).state_dict()),
        ("weight",),
    ),
    "module attribute": (lambda t: t.nn.Linear(2, 3).wieght, ("wieght",)),
    "optimizer without parameters": (lambda t: t.optim.SGD([], lr=0.1), ()),
    "memory that no machine has": (lambda t: t.empty(2**50), ()),
    "negative size": (lambda t: t.ones(-1), ("-1",)),
    "generator seed": (lambda t: t.Generator().manual_seed("x"), ()),
}  # fmt: skip


def raised(call: Callable[[Any], Any], module: Any) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the type is what is compared
        call(module)
    return caught.value


@pytest.mark.parametrize("what", CASES)
def test_wrong_call(what: str) -> None:
    call, words = CASES[what]
    theirs, mine = raised(call, torch), raised(call, ours)
    same = type(mine) is type(theirs) or type(mine).__name__ == type(theirs).__name__
    assert same, f"{type(mine).__name__}: {mine}, PyTorch raises {type(theirs).__name__}: {theirs}"
    assert len(str(mine)) > 15, str(mine)
    assert not (missing := [w for w in words if w not in str(mine)]), f"{missing} not in: {mine}"
