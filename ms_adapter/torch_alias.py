"""Makes `torch` mean ms_adapter.pytorch here: for imports, importlib.util and importlib.metadata."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import ModuleType

FACE = "ms_adapter.pytorch"
TORCH_VERSION = "2.13.0"


# torch_npu is for scripts written for Ascend, functorch for those older than torch.func.
ROOTS = {"torch": FACE, "torch_npu": "ms_adapter.torch_npu", "functorch": "ms_adapter.functorch"}


def face_name(torch_name: str) -> str:
    """`torch.nn` -> `ms_adapter.pytorch.nn`."""
    root, point, rest = torch_name.partition(".")
    return ROOTS[root] + point + rest


class _Loader(importlib.abc.Loader):
    """Hands out the face's own module object, so that both names mean one module."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(face_name(spec.name))
        self._own_spec = module.__spec__  # the import system is about to replace it by the alias's
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._own_spec
        _alias_loaded_modules()


def _alias_loaded_modules() -> None:
    """Give every loaded module of the face its torch name: `sys.modules[cls.__module__]` must find it."""
    for name, module in list(sys.modules.items()):
        if name.startswith(FACE + "."):
            sys.modules.setdefault("torch" + name[len(FACE) :], module)
    identity = sys.modules.get(FACE + "._identity")
    if identity is not None:
        identity.speak_as_torch()


class _Distribution(importlib.metadata.Distribution):
    """The answer to `importlib.metadata.version("torch")`; no such distribution lies on the disk."""

    _FILES = {
        "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {TORCH_VERSION}\n"
        "Summary: PyTorch's face of ms_adapter\n",
        "top_level.txt": "torch\n",
    }

    def read_text(self, filename: str) -> str | None:
        return self._FILES.get(filename)

    def locate_file(self, path: str | os.PathLike[str]) -> Path:  # type: ignore[override]  # Python 3.13 adds a protocol
        return Path(__file__).resolve().parent.parent / path


class _Finder(importlib.abc.MetaPathFinder):
    """Serves `torch` and everything below it from the face."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in ROOTS:
            return None
        real = importlib.util.find_spec(face_name(fullname))
        if real is None:
            if _called_by_import():
                raise ModuleNotFoundError(
                    f"No module named {fullname!r}: ms_adapter does not have this part of PyTorch yet. "
                    "Guard the import with try/except where the script can do without it, or ask for it "
                    "in an issue.",
                    name=fullname,
                )
            return None  # importlib.util.find_spec asks whether it is there: it is not
        return importlib.machinery.ModuleSpec(
            fullname, _Loader(), origin=real.origin, is_package=real.submodule_search_locations is not None
        )

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterable[importlib.metadata.Distribution]:
        return [_Distribution()] if context is None or context.name in (None, "torch") else []


def _called_by_import() -> bool:
    """Whether the finder was reached by an import statement, not by a question through importlib.util."""
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_name == "_find_spec":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and frame.f_code.co_name == "_find_and_load_unlocked"


def is_installed() -> bool:
    """Whether `torch` means ms_adapter.pytorch in this process."""
    return any(isinstance(finder, _Finder) for finder in sys.meta_path)


def install() -> None:
    """Make `torch` mean ms_adapter.pytorch from here on; a second call changes nothing.

    Raises RuntimeError when PyTorch itself is loaded already: its objects cannot be mixed with ours.

    Example:
        >>> from ms_adapter import torch_alias
        >>> torch_alias.install()
        >>> import torch
        >>> torch.__name__
        'ms_adapter.pytorch'
    """
    if is_installed():
        return
    loaded = sys.modules.get("torch")
    if loaded is not None and loaded.__name__ != FACE:
        raise RuntimeError(
            "torch_alias.install: PyTorch is loaded already in this process, and its tensors cannot be "
            "mixed with ms_adapter's. Call install() before anything imports torch, or start "
            "with `ms-adapter run`."
        )
    sys.meta_path.insert(0, _Finder())


class _InstallOnLoad:
    """Calls `install` where it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[()]]:
        return install, ()


def install_in_children() -> None:
    """Make `torch` mean the face in processes that multiprocessing spawns; forked ones have it anyway."""
    from multiprocessing import spawn

    plain = spawn.get_preparation_data

    def with_alias(name: str) -> dict[str, object]:
        # The child unpickles this before it imports the main module, which is when `import torch` runs there.
        return {"ms_adapter": _InstallOnLoad(), **plain(name)}

    spawn.get_preparation_data = with_alias
