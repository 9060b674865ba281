"""The migration tools of the command `ms-adapter`, also as functions: see docs/tools.md."""

from __future__ import annotations

import importlib
from typing import Any

# The subpackages have other names than the functions: importing one would hide the function of its name.
_FUNCTIONS = {
    "compare": "ms_adapter.tools.comparison",
    "dump": "ms_adapter.tools.dumping",
    "verify": "ms_adapter.tools.verification",
}

__all__ = list(_FUNCTIONS)


def __getattr__(name: str) -> Any:
    """Load a tool when its function is first asked for; the package's own import stays cheap."""
    if name not in _FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_FUNCTIONS[name]), name)
