"""`ms.train`: Model and the callbacks; everything else is MindSpore's, where it is installed."""

from __future__ import annotations

from typing import Any

from .bridge import of_package


def __getattr__(name: str) -> Any:
    return of_package("train", name)
