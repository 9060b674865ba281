"""Runs a program with every call in its files watched: what was called where, with which shapes and dtypes.

Started by its path, so that an interpreter without ms_adapter can run it; the standard library is all it
needs. Names come from the objects that are called, so that no inference takes part.
"""

from __future__ import annotations

import ast
import builtins
import functools
import importlib.abc
import importlib.machinery
import json
import os
import runpy
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

CALLED, METHOD = "__scan_called__", "__scan_method__"
ROOTS = ("torch", "torchvision")
MOST_SIGNATURES = 12  # of one name at one place; more are counted together
MANY = "others"
Site = tuple[int, int]  # line and column at which the name of what is called ends


def span(node: Any) -> tuple[int, int, int]:
    """(line, first column, column after the end) of the last name in an expression."""
    line = getattr(node, "end_lineno", None) or node.lineno
    end = getattr(node, "end_col_offset", None) or node.col_offset + 1
    if isinstance(node, ast.Attribute):
        return line, max(end - len(node.attr), 0), end
    if isinstance(node, (ast.Name, ast.alias)):
        return node.lineno, node.col_offset, end
    return node.lineno, node.col_offset, end if node.lineno == line else node.col_offset + 1


class Watch(ast.NodeTransformer):
    """Rewrites `f(x)` as `called(site, f)(x)` and `o.m(x)` as `method(site, o, "m")(x)`."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.classes: list[str] = []

    def visit_Call(self, node: ast.Call) -> ast.AST:  # noqa: N802  ast's names
        line, _, end = span(node.func)
        place: Any = (self.path, line, end)
        site = ast.Constant(place)
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute):
            arguments = [site, node.func.value, ast.Constant(self.mangled(node.func.attr))]
            function = ast.Call(ast.Name(METHOD, ast.Load()), arguments, [])
        else:
            function = ast.Call(ast.Name(CALLED, ast.Load()), [site, node.func], [])
        node.func = ast.copy_location(function, node.func)
        return ast.fix_missing_locations(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:  # noqa: N802
        self.classes.append(node.name)
        self.generic_visit(node)
        self.classes.pop()
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:  # noqa: N802
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node

    def mangled(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__") and self.classes
        return f"_{self.classes[-1].lstrip('_')}{name}" if private else name


class Record:
    """The names that each call site met, how often and with what; also the sites that met none of the API."""

    def __init__(self) -> None:
        self.sites: dict[str, dict[Site, dict[str, dict[str, int]]]] = {}
        self.public: dict[int, str] = {}

    def called(self, site: tuple[str, int, int], function: Any) -> Any:
        return self.watched(site, self.name_of(function), function, getattr(function, "__self__", None))

    def method(self, site: tuple[str, int, int], owner: Any, name: str) -> Any:
        function = getattr(owner, name)
        return self.watched(site, self.member_of(owner, name) or self.name_of(function), function, owner)

    def watched(self, site: tuple[str, int, int], name: str | None, function: Any, owner: Any) -> Any:
        """The function itself, or one around it that takes down what it is given."""
        path, line, end = site
        met = self.sites.setdefault(path, {}).setdefault((line, end), {})
        if name is None:
            return function
        signatures = met.setdefault(name, {})

        def noting(*args: Any, **kwargs: Any) -> Any:
            text = ", ".join(described((owner, *args, *kwargs.values())))
            key = text if text in signatures or len(signatures) < MOST_SIGNATURES else MANY
            signatures[key] = signatures.get(key, 0) + 1
            return function(*args, **kwargs)

        return noting

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
            return self.name_of_method(function)
        if isinstance(function, type):
            return self.names().get(id(function)) if is_api(function.__module__) else None
        if isinstance(function, (types.FunctionType, types.BuiltinFunctionType)):
            named = self.names().get(id(function))
            module = getattr(function, "__module__", "") or ""
            whole = is_api(module) and "<" not in function.__qualname__
            return named or (f"{module}.{function.__qualname__}" if whole else None)
        if (named := self.names().get(id(function))) is not None:
            return named
        cls = type(function)
        return f"{nearest(cls.__mro__)}.__call__" if self.calls_api(cls) else None

    def name_of_method(self, function: Any) -> str | None:
        named = self.names().get(id(function))
        owner = function.__self__
        if named or isinstance(owner, type) and owner.__name__ in ("_VariableFunctionsClass", "type"):
            return named or f"torch.{function.__name__}"
        return self.member_of(owner, function.__name__)

    @staticmethod
    def calls_api(cls: type) -> bool:
        return next((is_api(c.__module__) for c in cls.__mro__ if "__call__" in vars(c)), False)

    def names(self) -> dict[int, str]:
        """Every public object of the API by its identity, with its shortest name."""
        if self.public.get(-1) != str(len(sys.modules)):
            modules = {n: m for n, m in list(sys.modules.items()) if is_api(n) and m is not None}
            order = sorted(modules.items(), key=lambda m: (hidden(m[0]), m[0].count("."), len(m[0])))
            found: dict[int, str] = {}
            for name, module in order:
                for attribute, thing in list(vars(module).items()):
                    own = is_function(thing) and is_api(getattr(thing, "__module__", None) or "torch")
                    if own and not attribute.startswith("__"):
                        found.setdefault(id(thing), f"{name}.{attribute}")
            self.public = {**found, -1: str(len(sys.modules))}
        return self.public

    def to_json(self) -> str:
        lines = {
            path: [[line, end, names] for (line, end), names in sorted(sites.items())]
            for path, sites in self.sites.items()
        }
        return json.dumps(lines)


def described(values: Any) -> Iterator[str]:
    """dtype and shape of the tensors among values, those in lists and tuples too."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", ())
    for value in values:
        if isinstance(value, tensor):
            try:
                yield f"{str(value.dtype).rpartition('.')[2]}[{', '.join(map(str, value.shape))}]"
            except (RuntimeError, AttributeError):  # a tensor of another kind
                yield type(value).__name__
        elif type(value) in (list, tuple) and len(value) < 9:
            yield from described(value)


def is_function(thing: Any) -> bool:
    """A class or function, or what ms_adapter has for one (`overridable`): no module, no plain value."""
    kinds = (type, types.FunctionType, types.BuiltinFunctionType)
    kind = type(thing)  # not isinstance: some of PyTorch's objects warn when their __class__ is asked for
    return issubclass(kind, kinds) or kind.__name__ == "overridable"


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
    """Loads the modules that shall be watched through Watch."""

    def __init__(self, wanted: Callable[[Path], bool]) -> None:
        self.wanted = wanted
        self.places: dict[str, str] = {}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or not spec.origin or not spec.origin.endswith(".py"):
            return None
        if not self.wanted(Path(spec.origin).resolve()):
            return None
        spec.loader = self
        self.places[name] = spec.origin
        return spec

    def get_filename(self, fullname: str) -> str:
        return self.places[fullname]

    def get_data(self, path: str) -> bytes:
        if not path.endswith(".py"):
            raise OSError  # no cached bytecode: it would be the unwatched one
        return Path(path).read_bytes()

    def source_to_code(self, data: Any, path: Any, *, _optimize: int = -1) -> Any:  # type: ignore[override]
        return watched(Path(path))

    def path_stats(self, path: str) -> Any:
        raise OSError


def watched(path: Path) -> types.CodeType:
    return compile(Watch(str(path.resolve())).visit(ast.parse(path.read_bytes())), str(path), "exec")


def run(kept: Record, command: list[str], wanted: Callable[[Path], bool]) -> None:
    """Run `SCRIPT ARGS` or `-m MODULE ARGS` as Python would; what it raises passes through."""
    setattr(builtins, CALLED, kept.called)
    setattr(builtins, METHOD, kept.method)
    sys.meta_path.insert(0, Finder(wanted))
    if command[0] == "-m":
        sys.path.insert(0, os.getcwd())
        sys.argv = command[1:]
        runpy.run_module(command[1], run_name="__main__", alter_sys=True)
    else:
        run_script(Path(command[0]), command)


def run_script(script: Path, command: list[str]) -> None:
    sys.path.insert(0, str(script.resolve().parent))
    sys.argv = command
    module = types.ModuleType("__main__")
    module.__file__ = str(script)
    sys.modules["__main__"] = module
    exec(watched(script), vars(module))


def main() -> None:
    """Run the request in the file that sys.argv[1] names; what was called is written however the run ends."""
    request = json.loads(Path(sys.argv[1]).read_text())
    sys.path[:] = [p for p in sys.path if Path(p or ".").resolve() != Path(__file__).resolve().parent]
    if request["engine"] == "ours":
        sys.path.insert(0, request["package_root"])
        from ms_adapter import torch_alias

        torch_alias.install()
        torch_alias.install_in_children()
        sys.path.remove(request["package_root"])
    files, kept = set(request["files"]), Record()
    try:
        run(kept, request["command"], lambda path: str(path) in files)
    finally:
        Path(request["out"]).write_text(kept.to_json())


if __name__ == "__main__":
    main()
