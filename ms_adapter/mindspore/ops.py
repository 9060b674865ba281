"""`ms.ops`: the gradients of functions, and their clipping; everything else is MindSpore's, where it is
installed."""

from __future__ import annotations

from typing import Any

from .bridge import clip_by_global_norm, clip_by_value, grad, of_package, value_and_grad

__all__ = ["clip_by_global_norm", "clip_by_value", "grad", "value_and_grad"]


def __getattr__(name: str) -> Any:
    return of_package("ops", name)
