"""Installs the bridge when MindSpore and our face are both imported, in whatever order the script says.

Nothing is imported for it: a finder looks at the names that are imported, until `mindspore` is one.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

PACKAGE = "mindspore"


class _Loader(Loader):
    """MindSpore's own loader, and the bridge after it."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._own
        if module.__spec__ is not None:
            module.__spec__.loader = self._own
        self._own.exec_module(module)
        build()


class _Finder(MetaPathFinder):
    """Waits for the import of MindSpore."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != PACKAGE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            sys.meta_path.insert(0, self)  # it may be installed yet
        else:
            spec.loader = _Loader(spec.loader)
        return spec


def build() -> None:
    """The bridge to a MindSpore that fits; one of another version stays as it is."""
    from .bridge import install

    try:
        install()
    except RuntimeError:
        pass  # who uses the device or the training interface is told then


def watch() -> None:
    """Builds the bridge now where MindSpore is there, else when it comes."""
    if PACKAGE in sys.modules:
        build()
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
