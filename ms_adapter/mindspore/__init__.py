"""MindSpore: the device `mindspore`, and MindSpore's training interface for our modules.

    import ms_adapter.mindspore as ms

gives `ms.value_and_grad`, `ms.grad`, `ms.ops`, `ms.nn`, `ms.Model`, `ms.set_context` and the like: with
MindSpore they take its objects as well as ours, without it they run on the built-in engine
(docs/mindspore.md).
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "bridge": (
        *("Model", "data_sink", "grad", "value_and_grad"),
        *("load_param_into_net", "save_checkpoint", "set_seed"),
    ),
    "context": ("GRAPH_MODE", "PYNATIVE_MODE", "get_context", "set_context", "set_device"),
    "data": ("jit",),
    "mixing": ("as_cell", "as_module", "cast_to_adapter_tensor", "cast_to_ms_tensor", "convert_tensor"),
    "checkpoint": ("load_checkpoint",),
    "saving": ("CheckpointConfig", "ModelCheckpoint"),
    "training": ("Callback", "LossMonitor", "RunContext", "TimeMonitor"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("ops", "nn", "train", "amp", "adapt", "ascend", "backend", "on_import", "context", "dataset")


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        found = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
    elif name in _MODULES:
        found = importlib.import_module(f"{__name__}.{name}")
    else:
        from .bridge import of_package

        return of_package("", name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF, *_MODULES})
