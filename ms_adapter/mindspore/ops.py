"""`ms.ops`: the gradients of functions; everything else is MindSpore's, where it is installed."""

from __future__ import annotations

from typing import Any

from .bridge import grad, of_package, value_and_grad

__all__ = ["grad", "value_and_grad"]


def __getattr__(name: str) -> Any:
    return of_package("ops", name)
