"""How ms_adapter.torchvision becomes the installed torchvision, whatever `torch` means in the process."""

from __future__ import annotations

import builtins
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

FACE = "ms_adapter.pytorch"
VERSION = "0.28.0"  # the one for the PyTorch whose face we have
INSTALL = f"pip install --no-deps torchvision=={VERSION} && pip install pillow numpy"


def load(name: str) -> None:
    """Fill the module `name`, being imported, with torchvision; ImportError where that is not installed."""
    spec = importlib.util.find_spec("torchvision")
    if spec is None or spec.origin is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"{name}: torchvision is not installed. Install it without the PyTorch it asks for: {INSTALL}",
            name="torchvision",
        )
    if _torch_means_us():
        sys.meta_path.insert(0, _SameModules(name))
        sys.modules[name] = importlib.import_module("torchvision")
        return
    module = sys.modules[name]
    module.__path__ = list(spec.submodule_search_locations)
    module.__file__ = spec.origin
    sys.meta_path.insert(0, _OwnCopies(name))
    _OwnLoader(name, spec.origin).exec_module(module)


def _torch_means_us() -> bool:
    from ms_adapter import torch_alias

    return torch_alias.is_installed()


class _SameModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Serves `ms_adapter.torchvision.x` as the module `torchvision.x`."""

    def __init__(self, root: str) -> None:
        self._prefix = root + "."
        self._specs: dict[str, Any] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(self._prefix):
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module("torchvision." + spec.name.removeprefix(self._prefix))
        self._specs[spec.name] = module.__spec__  # the import system is about to replace it by ours
        return module

    def exec_module(self, module: ModuleType) -> None:
        given = module.__spec__
        if given is not None and given.name in self._specs:
            module.__spec__ = self._specs.pop(given.name)


class _OwnCopies(importlib.abc.MetaPathFinder):
    """Loads torchvision's files as modules below `root`, with `torch` meaning the face in them."""

    def __init__(self, root: str) -> None:
        self._prefix = root + "."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not fullname.startswith(self._prefix):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            spec.loader = _OwnLoader(fullname, spec.loader.path)
        return spec


class _OwnLoader(importlib.machinery.SourceFileLoader):
    """Runs a file with an `import` of its own, as one's `__import__` comes from one's `__builtins__`."""

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": _import}
        super().exec_module(module)


def _import(
    name: str,
    globals: dict[str, Any] | None = None,
    locals: dict[str, Any] | None = None,
    fromlist: Sequence[str] | None = (),
    level: int = 0,
) -> ModuleType:
    """`__import__` for torchvision's files: `torch` is the face there, and `torchvision` is our copy."""
    root, _, rest = name.partition(".")
    ours = {"torch": FACE, "torchvision": "ms_adapter.torchvision"}.get(root) if level == 0 else None
    if ours is None:
        return builtins.__import__(name, globals, locals, fromlist or (), level)
    made = builtins.__import__(f"{ours}.{rest}" if rest else ours, globals, locals, fromlist or (), 0)
    return made if fromlist else sys.modules[ours]  # without a list, `import a.b` binds a
