"""Paths of modules and names of parameters, from the module that was called from outside."""

from __future__ import annotations

import weakref
from typing import Any


class ModuleNames:
    """`Net.encoder.0` for each part of a module; a second root of one class is `Net#2`."""

    def __init__(self) -> None:
        self._paths: dict[int, tuple[Any, str]] = {}
        self._roots: dict[str, int] = {}
        self.names: dict[int, str] = {}  # of parameters and buffers, by id
        self.tensors: dict[str, Any] = {}

    def path_of(self, module: Any) -> str | None:
        """The path of a module that has one."""
        known = self._paths.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def name_all(self, root: Any) -> None:
        """Give a path to a module called from outside, and to all parts of it that have none."""
        base = self.path_of(root)
        if base is None:
            base = type(root).__name__
            self._roots[base] = self._roots.get(base, 0) + 1
            if self._roots[base] > 1:
                base = f"{base}#{self._roots[base]}"
        for name, part in root.named_modules():
            if self.path_of(part) is None:
                self._paths[id(part)] = (weakref.ref(part), f"{base}.{name}" if name else base)
        for name, tensor in (*root.named_parameters(), *root.named_buffers()):
            if self.tensors.get(self.names.get(id(tensor), "")) is not tensor:
                self.names[id(tensor)] = f"{base}.{name}"
                self.tensors[f"{base}.{name}"] = tensor
