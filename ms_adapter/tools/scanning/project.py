"""The modules of a project, and which import finds which of them."""

from __future__ import annotations

from pathlib import Path

from .source import Source
from .values import Module


class Project:
    """The sources by module name, which starts where a file's packages do, or at the root scanned."""

    def __init__(self, roots: list[Path], sources: list[Source]) -> None:
        self.roots = [r.resolve() if r.is_dir() else r.resolve().parent for r in roots]
        self.modules: dict[str, Module] = {}
        self.by_source: dict[Path, Module] = {}
        for source in sources:
            path = source.path.resolve()
            names = self.names(path)
            module = Module(names[0], str(source.path), path.stem == "__init__")
            self.by_source[source.path] = module
            for name in names:
                self.modules.setdefault(name, module)

    def names(self, path: Path) -> list[str]:
        """The names under which a file can be imported: from its package, from a root, from its folder."""
        parts = [] if path.stem == "__init__" else [path.stem]
        folder = path.parent
        packaged = list(parts)
        while (folder / "__init__.py").exists() and folder.name.isidentifier():
            packaged.insert(0, folder.name)
            folder = folder.parent
        found = [".".join(packaged)] if packaged else []
        for root in self.roots:
            for base in (root, root / "src"):
                if path.is_relative_to(base):
                    found.append(".".join([*path.parent.relative_to(base).parts, *parts]))
        return [n for n in dict.fromkeys([*found, path.stem]) if n]

    def find(self, name: str, near: Module | None = None) -> Module | None:
        """The module that `import name` finds, from a script beside it before any other."""
        if near is not None and "." not in name:
            beside = Path(near.path).parent
            for candidate in (beside / f"{name}.py", beside / name / "__init__.py"):
                if candidate in self.by_source:
                    return self.by_source[candidate]
        return self.modules.get(name)

    def is_package(self, name: str) -> bool:
        """Whether modules of the project lie below that name, with or without an __init__."""
        return any(m.startswith(name + ".") for m in self.modules)
