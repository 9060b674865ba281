"""Names of MindSpore's that scripts of MSAdapter's users take beside the training interface, for where
MindSpore is not installed: dtypes, `ms.Tensor`, the managers of loss scales."""

from __future__ import annotations

import importlib
from typing import Any

_DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8"),
    *("float16", "float32", "float64", "bfloat16", "complex64", "complex128"),
)
_MANAGERS = ("FixedLossScaleManager", "DynamicLossScaleManager")


class _Tensor(type):
    """What makes `isinstance(x, ms.Tensor)` true of our tensors."""

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, _torch().Tensor)


class Tensor(metaclass=_Tensor):
    """`ms.Tensor(data, dtype)`: a tensor of ours from numbers, a NumPy array or a tensor, copied.

    >>> Tensor([1, 2])
    tensor([1, 2])
    """

    def __new__(cls, input_data: Any, dtype: Any = None) -> Any:
        torch = _torch()
        if isinstance(input_data, torch.Tensor):
            return input_data.detach().clone().to(dtype)
        return torch.tensor(input_data, dtype=dtype)


def find(space: str, name: str) -> Any:
    """What stands for a name of `mindspore.<space>`; None for others."""
    if space in ("", "common", "common.dtype") and name.rstrip("_") in _DTYPES:
        return getattr(_torch(), name.rstrip("_"))
    if not space and name == "Tensor":
        return Tensor
    if space in ("", "train", "amp") and name in _MANAGERS:
        return getattr(importlib.import_module(f"{__package__}.amp"), name)
    return None


def _torch() -> Any:
    from ms_adapter import pytorch

    return pytorch
