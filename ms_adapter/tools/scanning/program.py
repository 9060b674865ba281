"""A whole project under the scan: its units, what they use, and what has to be presumed at its edges."""

from __future__ import annotations

import ast
import functools
from dataclasses import dataclass
from typing import Any

from . import api
from .execute import Executor
from .project import Project
from .scope import Cell, Scope, Unit, Work
from .source import Source
from .values import (
    NOTHING,
    TENSOR,
    Class,
    Function,
    Inst,
    Module,
    Object,
    Types,
    Unknown,
    mapping,
    plain,
    sequence,
    unknown,
)
from .watch import span


@dataclass(frozen=True, slots=True)
class Use:
    """One place where the program uses a name of the API, or may use one."""

    line: int
    column: int
    end_column: int
    name: str  # the full name; of an unsure use, the attribute
    kind: str  # call, read, set, operator, import or base
    why: str = ""  # why it is unsure; empty where it is sure


class Program:
    """Scans sources to the end: `uses[path]` are the uses of each file."""

    def __init__(self, project: Project, sources: list[Source]) -> None:
        self.project = project
        self.work = Work()
        self.loose: dict[str, Cell] = {}
        self.saved: dict[str, Cell] = {}  # by file, and by folder of the programs
        self.scopes: dict[int, Scope] = {}
        self.units: dict[int, Unit] = {}
        self.functions: dict[int, Function] = {}
        self.classes: dict[int, Class] = {}
        self.bodies: dict[int, list[ast.stmt]] = {}
        self.noted: dict[int, Types] = {}
        self.read: set[int] = set()  # annotations whose meaning is known
        for source in sources:
            if source.tree is not None:
                scope = self.module_scope(project.by_source[source.path])
                unit = self.units[id(source.tree)] = Unit(scope, source.tree.body)
                self.work.add(unit)
        self.settle()
        self.presume()

    # --- running ----------------------------------------------------------------------------------
    def settle(self) -> None:
        while (unit := self.work.next()) is not None:
            Run(self, unit).run()

    def presume(self) -> None:
        """Fill what nothing in the project tells: tensors where PyTorch calls, and reasons elsewhere."""
        for unit in list(self.units.values()):
            if unit.function is not None:
                for name, cell in unit.params.items():
                    if not cell.types or all(isinstance(v, Unknown) for v in cell.types):
                        self.work.grow(cell, self.presumed(unit, name))
        for cls in list(self.classes.values()):
            if cls.api_base():
                self.inherit(cls)
        self.settle()

    def inherit(self, cls: Class) -> None:
        """Methods that a module has from its bases are its own: they call what it overrides."""
        seen = set(cls.scope.cells)
        for at in list(cls.lineage())[1:]:
            cells = at.scope.cells if isinstance(at, Class) else {}
            for name in cells.keys() - seen:
                for function in cells[name].types:
                    if isinstance(function, Function) and function.kind == "method" and function.owner:
                        me = next(iter(self.unit(function).params.values()), None)
                        if me is not None:
                            self.work.grow(me, frozenset({Object(cls)}))
            seen |= set(cells)

    def presumed(self, unit: Unit, name: str) -> Types:
        function = unit.function
        label = getattr(function.node, "name", "lambda")
        base = function.owner.api_base() if function.owner else None
        spread = {a.arg for a in (function.node.args.vararg, function.node.args.kwarg) if a}
        if base and api.inherits(base, "torch.autograd.Function") and name not in spread:
            first = next(iter(unit.params), None)
            return frozenset({Inst("torch.autograd.function.FunctionCtx")}) if name == first else TENSOR
        if base and api.inherits(base, "torch.nn.Module") and label == "forward" and name not in spread:
            return TENSOR
        if tensor_like(function.node, name):
            return TENSOR
        return unknown(f"parameter {name} of {label}: no call in the project tells what it is")

    # --- the parts of the program --------------------------------------------------------------------
    def module_scope(self, module: Module) -> Scope:
        found = self.scopes.get(id(module))
        if found is None:
            found = self.scopes[id(module)] = Scope("module", module)
        return found

    def function(self, node: Any, scope: Scope) -> Function:
        found = self.functions.get(id(node))
        if found is None:
            owner = scope.cls if scope.kind == "class" else None
            found = self.functions[id(node)] = Function(node, scope, owner, "method" if owner else "function")
            self.work.add(self.unit(found))
        return found

    def class_(self, node: ast.ClassDef, scope: Scope) -> Class:
        found = self.classes.get(id(node))
        if found is None:
            found = self.classes[id(node)] = Class(node.name, None)
            found.scope = Scope("class", scope.module, scope, cls=found)
            self.bodies[id(found)] = node.body
        return found

    def unit(self, function: Function) -> Unit:
        found = self.units.get(id(function.node))
        if found is None:
            node: Any = function.node
            scope = Scope("function", function.scope.module, function.scope)
            scope.cls = function.owner
            is_lambda = isinstance(node, ast.Lambda)
            body: Any = [ast.copy_location(ast.Return(node.body), node.body)] if is_lambda else node.body
            found = self.units[id(node)] = Unit(scope, body, function)
            a = node.args
            for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs, *(x for x in (a.vararg, a.kwarg) if x)):
                found.params[arg.arg] = scope.cell(arg.arg)
                found.params[arg.arg].readers.add(found)
        return found

    def fields(self, cls: Class) -> list[str]:
        """The annotated names in a class's body."""
        noted = (s.target for s in self.bodies[id(cls)] if isinstance(s, ast.AnnAssign))
        return [target.id for target in noted if isinstance(target, ast.Name)]

    def set_attribute(self, name: str) -> Cell:
        return self.loose.setdefault(name, Cell())

    def saved_in(self, file: str) -> Cell:
        return self.saved.setdefault(file, Cell())

    def defaults(self, function: Function, given: dict[int, Types], run: Run) -> None:
        """What the parameters hold by default, by annotation, and, of methods, the object itself."""
        unit, args = self.unit(function), function.node.args
        named = [*args.posonlyargs, *args.args]
        tail = args.defaults
        pairs = list(zip(named[len(named) - len(tail) :], tail))
        pairs += [(a, d) for a, d in zip(args.kwonlyargs, args.kw_defaults) if d is not None]
        for arg, default in pairs:
            types = given[id(default)]
            if types != plain("None"):
                self.work.grow(unit.params[arg.arg], types)
        for arg in (*named, *args.kwonlyargs):
            if arg.annotation is not None and id(arg) not in self.read:
                types = run.annotation(arg.annotation)
                self.work.grow(unit.params[arg.arg], types)
                if types:  # else its names may still become known
                    self.read.add(id(arg))
        if function.owner is not None and named:
            static = any(getattr(d, "id", "") == "staticmethod" for d in function.node.decorator_list)
            of_class = any(getattr(d, "id", "") == "classmethod" for d in function.node.decorator_list)
            if not static:
                me = function.owner if of_class else Object(function.owner)
                self.work.grow(unit.params[named[0].arg], frozenset({me}))
        if getattr(function.node, "returns", None) is not None and not self.noted.get(id(function)):
            self.noted[id(function)] = run.annotation(function.node.returns)  # type: ignore[union-attr, arg-type]

    def returns(self, function: Function, run: Run) -> Types:
        return self.noted.get(id(function), NOTHING)

    def uses(self) -> dict[str, list[Use]]:
        """The uses by file, in order."""
        found: dict[str, dict[Use, None]] = {}
        for unit in self.units.values():
            found.setdefault(unit.scope.module.path, {}).update((u, None) for u in unit.uses)
        return {path: sorted(uses, key=lambda u: (u.line, u.column, u.name)) for path, uses in found.items()}


class Run(Executor):
    """One run of a unit."""

    def __init__(self, program: Program, unit: Unit) -> None:
        self.program, self.work, self.unit = program, program.work, unit
        self.scope = unit.scope
        self.env = {name: cell.types for name, cell in unit.params.items() if cell.types}
        self.uses = {}
        self.loops = []
        self.calling = []
        self.opened = []

    def run(self) -> None:
        self.block(self.unit.body)
        self.unit.uses = list(self.uses.values())

    def home(self, name: str) -> Cell:
        """The cell of a name that is assigned here."""
        scope = self.scope
        if name in scope.outer:
            above = scope.parent
            while above is not None and (above.kind == "class" or (name not in above.cells and above.parent)):
                above = above.parent
            scope = above or scope
        return scope.cell(name)

    # --- uses -------------------------------------------------------------------------------------
    def use(self, node: ast.AST | None, name: str, kind: str, at: ast.AST | None = None) -> None:
        """Take down a use at the place where its name ends; a call or base takes the place of a read."""
        where = at or node
        if where is None:
            return
        line, column, end = span(where)
        key = (line, column, end, name)
        old = self.uses.get(key)
        if old is None or kind in ("call", "base"):
            self.uses[key] = Use(line, column, end, name, kind)

    def unsure(self, node: ast.Attribute, name: str, why: str) -> None:
        line, column, end = span(node)
        self.uses.setdefault((line, column, end, name), Use(line, column, end, name, "call", why))

    # --- annotations ------------------------------------------------------------------------------
    def annotation(self, node: ast.expr) -> Types:
        """The objects that an annotation allows."""
        if isinstance(node, ast.Constant):
            if not isinstance(node.value, str):
                return NOTHING
            try:
                inner = ast.parse(node.value, mode="eval").body
            except SyntaxError:
                return NOTHING
            return self.annotation(ast.fix_missing_locations(ast.copy_location(inner, node)))
        if isinstance(node, ast.BinOp):  # A | B
            return self.annotation(node.left) | self.annotation(node.right)
        if isinstance(node, ast.Subscript):
            return self.generic(node)
        return frozenset(v for v in self.made(self.value(node, silent=True)) if v != plain("None"))

    def generic(self, node: ast.Subscript) -> Types:
        last = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        inside = [self.annotation(p) for p in parts]
        if last in ("Optional", "Union", "Annotated", "Final", "ClassVar"):
            return frozenset().union(*(inside if last != "Annotated" else inside[:1]))
        if last in ("List", "list", "Sequence", "Iterable", "Iterator", "Set", "set", "Generator"):
            return frozenset({sequence(None, inside[0])}) if inside[0] else NOTHING
        if last in ("Tuple", "tuple"):
            if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
                return frozenset({sequence(None, inside[0])})
            return frozenset({sequence(inside)})
        if last in ("Dict", "dict", "Mapping", "OrderedDict", "DefaultDict"):
            return frozenset({mapping({}, inside[-1])})
        return NOTHING


def tensor_like(function: ast.AST, name: str) -> bool:
    """Whether a parameter is used as only a tensor can be: `x.unsqueeze(0)`, `x.detach()`."""
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and node.attr in only_tensors()
        for node in ast.walk(function)
    )


@functools.cache
def only_tensors() -> frozenset[str]:
    """Methods of tensors that no module, optimizer, array or string has."""
    own = {n for n in dir(api.face("torch.Tensor")) if not n.startswith("_")}
    others = {n for cls in ("torch.nn.Module", "torch.optim.Optimizer") for n in dir(api.face(cls))}
    return frozenset(own & api.telling()) - others
