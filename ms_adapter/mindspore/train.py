"""`ms.train`: Model and the callbacks; everything else is MindSpore's, where it is installed."""

from __future__ import annotations

from typing import Any

from .bridge import entry, of_package
from .training import Callback, LossMonitor, RunContext, TimeMonitor

__all__ = ["Callback", "LossMonitor", "RunContext", "TimeMonitor"]


def __getattr__(name: str) -> Any:
    return entry(name) if name == "Model" else of_package("train", name)
