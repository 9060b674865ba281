"""`ms.dataset`: MindSpore's, where it is installed; else GeneratorDataset and NumpySlicesDataset of ours."""

from __future__ import annotations

from typing import Any

from ._package import installed
from .bridge import of_package

_OURS = ("GeneratorDataset", "NumpySlicesDataset")


def __getattr__(name: str) -> Any:
    if name in _OURS and not installed():
        from . import pipelines

        return getattr(pipelines, name)
    return of_package("dataset", name)
