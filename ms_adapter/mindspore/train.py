"""`ms.train`: Model and the callbacks; everything else is MindSpore's, where it is installed."""

from __future__ import annotations

from typing import Any

from .bridge import data_sink, entry, load_param_into_net, of_package, save_checkpoint
from .saving import CheckpointConfig, ModelCheckpoint
from .training import Callback, LossMonitor, RunContext, TimeMonitor

__all__ = [
    "Callback",
    "CheckpointConfig",
    "LossMonitor",
    "ModelCheckpoint",
    "RunContext",
    "TimeMonitor",
    "data_sink",
    "load_param_into_net",
    "save_checkpoint",
]


def __getattr__(name: str) -> Any:
    return entry(name) if name == "Model" else of_package("train", name)
