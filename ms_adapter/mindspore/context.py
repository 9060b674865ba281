"""set_context and its words: MindSpore's where it is installed, checked and remembered where it is not."""

from __future__ import annotations

from typing import Any

from . import ascend
from ._package import ASCEND, CPU, installed, mindspore

GRAPH_MODE, PYNATIVE_MODE = 0, 1
_said: dict[str, Any] = {"mode": PYNATIVE_MODE, "device_target": "CPU"}


def set_context(**options: Any) -> None:
    """Sets `mode` (GRAPH_MODE or PYNATIVE_MODE), `device_target` and what else MindSpore's context has.

    GRAPH_MODE compiles MindSpore's own cells, and with MindSpore installed our modules and functions too, by
    captured graphs (docs/mindspore.md); without it ours run op by op in both modes.

    >>> set_context(mode=PYNATIVE_MODE, device_target="CPU")
    >>> get_context("mode")
    1
    """
    target = options.get("device_target", CPU)
    if target == ASCEND and not ascend.available():
        raise NotImplementedError(
            f"set_context: device_target={target!r} is not on this machine ({'; '.join(ascend.found())}); "
            "leave it out, or say 'CPU'."
        )
    if target not in (CPU, ASCEND):
        raise NotImplementedError(
            f"set_context: device_target={target!r} is not supported, of MindSpore's targets 'CPU' is "
            "measured and 'Ascend' designed (docs/ascend.md); leave it out, or say 'CPU'."
        )
    if options.get("mode", PYNATIVE_MODE) not in (GRAPH_MODE, PYNATIVE_MODE):
        raise ValueError(
            f"set_context: mode is {options['mode']!r}; it must be GRAPH_MODE (0) or PYNATIVE_MODE (1)."
        )
    _said.update(options)
    if installed():
        from .graph import mode

        mindspore().set_context(**options)
        mode.follow(options.get("mode"))


def get_context(name: str) -> Any:
    """What `set_context` was told, or its default; KeyError for what it was not."""
    return _said[name]


def set_device(device_target: str, device_id: int | None = None) -> None:
    """`set_context(device_target=...)`."""
    set_context(device_target=device_target)
