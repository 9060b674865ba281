"""The scan against what a run called.

    scan_accuracy.py record OUT ROOT SCRIPT [ARGS ...]
    scan_accuracy.py compare ROOT RECORD ... [--verbose]

`record` runs a script under real PyTorch with every call in ROOT's files watched: what the program's text
calls is looked at as the run holds it, so that no inference takes part. `compare` scans ROOT without running
anything and prints recall and precision at the call sites that the runs reached.
"""

from __future__ import annotations

import ast
import functools
import importlib.abc
import importlib.machinery
import importlib.util
import json
import sys
import types
from pathlib import Path
from typing import Any

from ms_adapter.tools.scanning.program import span

CALLED, METHOD = "__scan_called__", "__scan_method__"
ROOTS = ("torch", "torchvision")
Site = tuple[int, int]  # line and column at which the name of what is called ends


# --- watching a run ---------------------------------------------------------------------------------
class Watch(ast.NodeTransformer):
    """Rewrites `f(x)` as `called(site, f)(x)` and `o.m(x)` as `method(site, o, "m")(x)`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def visit_Call(self, node: ast.Call) -> ast.AST:
        line, _, end = span(node.func)
        place: Any = (self.path, line, end)
        site = ast.Constant(place)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            arguments = [site, node.func.value, ast.Constant(mangled(self, node.func.attr))]
            function = ast.Call(ast.Name(METHOD, ast.Load()), arguments, [])
        else:
            function = ast.Call(ast.Name(CALLED, ast.Load()), [site, node.func], [])
        node.func = ast.copy_location(function, node.func)
        return ast.fix_missing_locations(node)

    classes: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self.classes = [*self.classes, node.name]
        self.generic_visit(node)
        self.classes = self.classes[:-1]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node


def mangled(watch: Watch, name: str) -> str:
    private = name.startswith("__") and not name.endswith("__") and watch.classes
    return f"_{watch.classes[-1].lstrip('_')}{name}" if private else name


class Record:
    """The names that each call site met, and the sites that met none of the API."""

    def __init__(self) -> None:
        self.sites: dict[str, dict[Site, set[str]]] = {}
        self.public: dict[int, str] = {}

    def called(self, site: tuple[str, int, int], function: Any) -> Any:
        self.add(site, self.name_of(function))
        return function

    def method(self, site: tuple[str, int, int], owner: Any, name: str) -> Any:
        function = getattr(owner, name)
        self.add(site, self.member_of(owner, name) or self.name_of(function))
        return function

    def add(self, site: tuple[str, int, int], name: str | None) -> None:
        path, line, end = site
        found = self.sites.setdefault(path, {}).setdefault((line, end), set())
        if name:
            found.add(name)

    def member_of(self, owner: Any, name: str) -> str | None:
        """`Class.name` where the attribute is the API's: not one that the program put there."""
        if isinstance(owner, types.ModuleType):
            return None
        line: Any
        if type(owner) is super:
            line = getattr(owner, "__self_class__").__mro__  # noqa: B009
            line = line[line.index(getattr(owner, "__thisclass__")) + 1 :]  # noqa: B009
        else:
            line = (owner if isinstance(owner, type) else type(owner)).__mro__
        held = getattr(owner, "__dict__", {}) if not isinstance(owner, (type, super)) else {}
        if name in held or any(name in held.get(k, ()) for k in ("_modules", "_parameters", "_buffers")):
            return None
        for cls in line:
            if name in vars(cls):
                return f"{nearest(line)}.{name}" if is_api(cls.__module__) else None
        return None

    def name_of(self, function: Any) -> str | None:
        """The public name of a function or class, or `Class.__call__` of a callable object of the API."""
        if isinstance(function, functools.partial):
            function = function.func
        if isinstance(function, (types.MethodType, types.BuiltinMethodType)) and not isinstance(
            getattr(function, "__self__", None), (types.ModuleType, type(None))
        ):
            named = self.names().get(id(function))
            owner = function.__self__
            if named or isinstance(owner, type) and owner.__name__ in ("_VariableFunctionsClass", "type"):
                return named or f"torch.{function.__name__}"
            return self.member_of(owner, function.__name__)
        if isinstance(function, type):
            return self.names().get(id(function)) if is_api(function.__module__) else None
        if isinstance(function, (types.FunctionType, types.BuiltinFunctionType)):
            named = self.names().get(id(function))
            module = getattr(function, "__module__", "") or ""
            return named or (
                f"{module}.{function.__qualname__}"
                if is_api(module) and "<" not in function.__qualname__
                else None
            )
        cls = type(function)
        return f"{nearest(cls.__mro__)}.__call__" if self.calls_api(cls) else None

    @staticmethod
    def calls_api(cls: type) -> bool:
        return next((is_api(c.__module__) for c in cls.__mro__ if "__call__" in vars(c)), False)

    def names(self) -> dict[int, str]:
        """Every public object of the API by its identity, with its shortest name."""
        if self.public.get(-1) != str(len(sys.modules)):
            modules = {n: m for n, m in list(sys.modules.items()) if is_api(n) and m is not None}
            found: dict[int, str] = {}
            for name, module in sorted(
                modules.items(), key=lambda item: (hidden(item[0]), item[0].count("."), len(item[0]))
            ):
                for attribute, thing in list(vars(module).items()):
                    kinds = (type, types.FunctionType, types.BuiltinFunctionType)
                    own = isinstance(thing, kinds) and is_api(getattr(thing, "__module__", None) or "torch")
                    if own and not attribute.startswith("__"):
                        found.setdefault(id(thing), f"{name}.{attribute}")
            self.public = {**found, -1: str(len(sys.modules))}
        return self.public


def hidden(module: str) -> bool:
    return any(part.startswith("_") for part in module.split("."))


def is_api(module: str | None) -> bool:
    return (module or "").partition(".")[0] in ROOTS


def nearest(line: Any) -> str:
    """The first class of the API in a line of classes."""
    own = [c for c in line if is_api(c.__module__)]
    cls: Any = next((c for c in own if getattr(sys.modules[c.__module__], c.__name__, None) is c), own[0])
    return f"{cls.__module__}.{cls.__qualname__}"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Loads the modules that lie in the root through Watch."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None
        if not Path(spec.origin).resolve().is_relative_to(self.root):
            return None
        spec.loader = self
        self.places = {**getattr(self, "places", {}), name: spec.origin}
        return spec

    def get_filename(self, fullname: str) -> str:
        return self.places[fullname]

    def get_data(self, path: str) -> bytes:
        if not path.endswith(".py"):
            raise OSError  # no cached bytecode: it would be the unwatched one
        return Path(path).read_bytes()

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        return watched(Path(path))

    def path_stats(self, path):
        raise OSError


def watched(path: Path) -> types.CodeType:
    return compile(Watch(str(path.resolve())).visit(ast.parse(path.read_bytes())), str(path), "exec")


def record(out: Path, root: Path, script: Path, args: list[str]) -> None:
    """Run the script as `python script args` would, and write down what it called."""
    import builtins

    kept = Record()
    setattr(builtins, CALLED, kept.called)
    setattr(builtins, METHOD, kept.method)
    sys.meta_path.insert(0, Finder(root.resolve()))
    sys.path[0] = str(script.resolve().parent)
    sys.argv = [str(script), *args]
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    try:
        exec(watched(script), vars(module))
    except SystemExit:
        pass
    finally:
        lines = {
            path: [[line, end, sorted(names)] for (line, end), names in sorted(sites.items())]
            for path, sites in kept.sites.items()
            if Path(path).is_relative_to(root.resolve())
        }
        out.write_text(json.dumps(lines))


# --- comparing ----------------------------------------------------------------------------------------
def compare(root: Path, records: list[Path], verbose: bool) -> None:
    from ms_adapter.tools.scanning import project, source
    from ms_adapter.tools.scanning.program import Program

    truth: dict[str, dict[Site, set[str]]] = {}
    for log in records:
        for file, sites in json.loads(log.read_text()).items():
            for line, end, names in sites:
                truth.setdefault(str(Path(file).resolve()), {}).setdefault((line, end), set()).update(
                    map(plain_name, names)
                )
    sources = [source.read(p) for p in source.files([root])]
    found = Program(project.Project([root], sources), sources).uses()
    guessed: dict[str, dict[Site, set[str]]] = {}
    unsure: dict[str, dict[Site, str]] = {}
    for path, uses in found.items():
        for use in uses:
            at = (use.line, use.end_column)
            if use.kind == "call" and not use.why:
                guessed.setdefault(str(Path(path).resolve()), {}).setdefault(at, set()).add(use.name)
            elif use.why:
                unsure.setdefault(str(Path(path).resolve()), {})[at] = use.why
    hit = missed = wrong = 0
    for file, sites in truth.items():
        for at, names in sites.items():
            ours = guessed.get(file, {}).get(at, set())
            hit += len(names & ours)
            missed += len(names - ours)
            wrong += len(ours - names)
            if verbose and names != ours:
                why = unsure.get(file, {}).get(at, "")
                print(f"{file}:{at[0]}:{at[1]}: run {sorted(names)}, scan {sorted(ours)} {why}")
    print(
        f"{root.name}: {hit + missed} names called, recall {hit / max(hit + missed, 1):.1%}, "
        f"precision {hit / max(hit + wrong, 1):.1%}"
    )


def plain_name(name: str) -> str:
    """The record's name as the scan writes it."""
    from ms_adapter.tools.scanning import api

    space, _, last = name.rpartition(".")
    context = "torch.autograd.function.FunctionCtx"
    if space.startswith("torch.autograd.function.") and api.member(context, last):
        return f"{context}.{last}"  # each Function has a context class of its own
    cls = api.canonical(space)
    if api.is_class(cls) and not api.is_module(cls):
        return api.member(cls, last) or f"{cls}.{last}"
    return api.canonical(name)


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "record":
        record(Path(rest[0]), Path(rest[1]), Path(rest[2]), rest[3:])
    else:
        given = [a for a in rest if a != "--verbose"]
        compare(Path(given[0]), [Path(p) for p in given[1:]], "--verbose" in rest)
