"""`ms.nn`: the training cells, SGD and Momentum for our modules or MindSpore's; else MindSpore's, where it is
installed."""

from __future__ import annotations

from typing import Any

from .bridge import entry, of_package

_TRAINING = ("WithLossCell", "TrainOneStepCell", "TrainOneStepWithLossScaleCell", "SGD", "Momentum")


def __getattr__(name: str) -> Any:
    return entry(name) if name in _TRAINING else of_package("nn", name)
