"""The `npu` device: MindSpore on Ascend. Not here yet (docs/ascend.md); its errors say what was looked
for."""

from __future__ import annotations

import glob
import os
from typing import Any

from ._package import SUPPORTED, installed

DRIVER = "/dev/davinci*"


def found() -> str:
    """What this machine has of what `npu` needs, in one line."""
    toolkit = os.environ.get("ASCEND_HOME_PATH") or os.environ.get("ASCEND_TOOLKIT_HOME")
    return "; ".join(
        (
            f"MindSpore: {'installed' if installed() else 'not installed'}",
            f"the driver's {DRIVER}: {'found' if glob.glob(DRIVER) else 'none'}",
            f"ASCEND_HOME_PATH: {toolkit or 'not set'}",
        )
    )


def refuse_npu(*_: Any) -> Any:
    """RuntimeError: there is no such device here."""
    raise RuntimeError(
        f"device 'npu': MindSpore {SUPPORTED} on an Ascend accelerator was looked for and not found "
        f"({found()}). "
        "Use device 'mindspore' for MindSpore's CPU target, or 'cpu'; docs/ascend.md says what is planned."
    )


plan = handle = fell_back = refuse = dtypes = refuse_npu
