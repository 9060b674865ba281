"""Layers that draw: the numbers come from our generator, which has PyTorch's stream; the arithmetic is
MindSpore's."""

from __future__ import annotations

from typing import Any

from ms_adapter import _C

from .._package import mindspore, shares_memory
from ..backend import DEVICE, handle
from . import adapter
from .elementwise import promoted
from .values import cast


@adapter()
def dropped(function: Any, out: Any, x: Any, p: float) -> Any:
    """Dropout: x times a noise of 0 and 1 / (1 - p), which is kept for backward."""
    from ms_adapter import pytorch as torch

    if not shares_memory():
        return NotImplemented  # the order of the input's memory is lost in the copy
    like = _C.adopt_tensor(DEVICE, x)  # numbers are drawn in the order of the input's memory
    noise = handle(torch.empty_like(like, device="cpu").bernoulli_(1 - p).div_(1 - p))
    return promoted(function, out, x, noise), noise


@adapter(data=True)
def none_negative(function: Any, out: Any, x: Any) -> bool:
    """Whether all are at least 0."""
    return bool(function(mindspore().ops.greater_equal(x, cast(0, x.dtype))).asnumpy())
