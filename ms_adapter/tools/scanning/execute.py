"""Runs a unit's statements over values that are known only by kind, in order, with branches joined."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, ClassVar

from .evaluate import Evaluator
from .values import (
    NOTHING,
    Api,
    Class,
    Foreign,
    Inst,
    Module,
    Object,
    Sequence,
    Types,
    Unknown,
    join,
    plain,
    sequence,
    unknown,
)

Env = dict[str, Types]


class Executor(Evaluator):
    """Statements. `self.env` is what the names hold here; it is None where control never comes."""

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if self.env is None:
                self.env = {}  # after a return: never run, but scanned
            method = self.STATEMENTS.get(type(statement))
            if method is not None:
                method(self, statement)

    # --- names ------------------------------------------------------------------------------------
    def bind(self, name: str, types: Types) -> None:
        if name not in self.scope.outer:
            self.env[name] = types
        self.work.grow(self.home(name), types)

    def assign(self, target: ast.expr, types: Types) -> None:
        """Give a value to a name, an attribute, an item, or the parts of a tuple."""
        if isinstance(target, ast.Name):
            self.bind(target.id, types)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self.unpack(target.elts, types)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, types)
        elif isinstance(target, ast.Attribute):
            self.assign_attribute(target, types)
        elif isinstance(target, ast.Subscript):
            self.assign_item(target, types)

    def unpack(self, targets: list[ast.expr], types: Types) -> None:
        exact = [v for v in types if isinstance(v, Sequence) and v.items and len(v.items) == len(targets)]
        starred = any(isinstance(t, ast.Starred) for t in targets)
        for k, target in enumerate(targets):
            if isinstance(target, ast.Starred):
                self.assign(target.value, frozenset({sequence(None, self.elements(types))}))
            elif exact and not starred:
                others = types - frozenset(exact)
                parts = [v.items[k] for v in exact if v.items]
                self.assign(target, join(*parts, *([self.elements(others)] if others else [])))
            else:
                self.assign(target, self.elements(types))

    def assign_attribute(self, target: ast.Attribute, types: Types) -> None:
        for owner in self.value(target.value):
            if isinstance(owner, (Object, Class)):
                cls = owner.cls if isinstance(owner, Object) else owner
                self.work.grow(cls.scope.cell(target.attr), types)
            elif isinstance(owner, (Inst, Api)):
                self.use_attribute(target, owner, kind="set")
                self.work.grow(self.program.set_attribute(target.attr), types)
            elif not isinstance(owner, Module):
                self.work.grow(self.program.set_attribute(target.attr), types)

    def assign_item(self, target: ast.Subscript, types: Types) -> None:
        owners = self.value(target.value)
        index = self.value(target.slice)
        if any(isinstance(o, Inst) and o.cls == "torch.Tensor" for o in owners):
            self.use(target, "torch.Tensor.__setitem__", "operator")
        grown = self.with_item(owners, index, types)
        if grown != owners:
            self.rebind(target.value, grown)

    def rebind(self, target: ast.expr, types: Types) -> None:
        """A container was changed in place: what holds it holds the changed one."""
        if isinstance(target, ast.Name):
            if target.id in self.env:
                self.env[target.id] = types
            self.work.grow(self.home(target.id), types)
        elif isinstance(target, ast.Attribute):
            for owner in self.value(target.value, silent=True):
                if isinstance(owner, Object):
                    self.work.grow(owner.cls.scope.cell(target.attr), types)

    # --- statements -------------------------------------------------------------------------------
    def expression(self, node: ast.Expr) -> None:
        self.value(node.value)

    def assignment(self, node: ast.Assign) -> None:
        types = self.value(node.value)
        for target in node.targets:
            self.assign(target, types)

    def annotated(self, node: ast.AnnAssign) -> None:
        noted = self.annotation(node.annotation)
        given = self.value(node.value) if node.value else NOTHING
        known = frozenset(v for v in given if not isinstance(v, Unknown))
        if noted or given:
            self.assign(node.target, join(known, noted) if noted else given)

    def augmented(self, node: ast.AugAssign) -> None:
        left, right = self.value(node.target), self.value(node.value)
        self.assign(node.target, self.operation(node, node.op, left, right, inplace=True))

    def returned(self, node: ast.Return) -> None:
        types = self.value(node.value) if node.value else plain("None")
        self.work.grow(self.unit.result, types)
        self.env = None

    def jump(self, node: ast.stmt) -> None:
        if self.loops and self.env is not None:
            self.loops[-1].append(self.env)
        self.env = None

    def raised(self, node: ast.Raise) -> None:
        for part in (node.exc, node.cause):
            if part is not None:
                self.value(part)
        self.env = None

    def branch(self, node: ast.If) -> None:
        self.value(node.test)
        before = self.env
        narrowed, otherwise = self.narrowed(node.test)
        ends = []
        for body, known in ((node.body, narrowed), (node.orelse, otherwise)):
            self.env = {**before, **known}
            self.block(body)
            ends.append(self.env)
        self.env = joined(ends)

    def loop_for(self, node: ast.For | ast.AsyncFor) -> None:
        elements = self.elements(self.value(node.iter))
        self.repeat(lambda: self.assign(node.target, elements), node.body, node.orelse)

    def loop_while(self, node: ast.While) -> None:
        self.repeat(lambda: self.value(node.test), node.body, node.orelse)

    def repeat(self, start: Callable[[], object], body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """A loop's body, twice: what the first round changes, the second one sees."""
        before = self.env
        for _ in range(2):
            self.loops.append([])
            start()
            self.block(body)
            self.env = joined([before, self.env, *self.loops.pop()]) or {}
        self.block(orelse)

    def with_(self, node: ast.With | ast.AsyncWith) -> None:
        for item in node.items:
            types = self.value(item.context_expr)
            if item.optional_vars is not None:
                self.assign(item.optional_vars, self.entered(types))
        self.block(node.body)

    def try_(self, node: ast.Try) -> None:
        before = dict(self.env)
        self.block(node.body)
        after = self.env
        ends = []
        for handler in node.handlers:
            self.env = joined([before, after]) or {}
            if handler.type is not None:
                self.value(handler.type)
            if handler.name:
                self.bind(handler.name, plain("exception"))
            self.block(handler.body)
            ends.append(self.env)
        self.env = after
        if node.orelse and self.env is not None:
            self.block(node.orelse)
        self.env = joined([self.env, *ends])
        if node.finalbody:
            self.env = {} if self.env is None else self.env
            self.block(node.finalbody)

    def match(self, node: ast.Match) -> None:
        subject = self.value(node.subject)
        before, ends = self.env, [self.env]
        for case in node.cases:
            self.env = dict(before)
            for part in ast.walk(case.pattern):
                if isinstance(part, (ast.MatchValue, ast.MatchClass)):
                    self.value(part.value if isinstance(part, ast.MatchValue) else part.cls)
                if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
                    whole = isinstance(part, ast.MatchAs) and part is case.pattern
                    self.bind(part.name, subject if whole else unknown("a part of a match"))
            if case.guard is not None:
                self.value(case.guard)
            self.block(case.body)
            ends.append(self.env)
        self.env = joined(ends)

    def delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.env.pop(target.id, None)
            else:
                self.value(target)

    def assertion(self, node: ast.Assert) -> None:
        self.value(node.test)
        self.env.update(self.narrowed(node.test)[0])

    def declared_outer(self, node: ast.Global | ast.Nonlocal) -> None:
        self.scope.outer.update(node.names)

    # --- definitions ------------------------------------------------------------------------------
    def define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        function = self.program.function(node, self.scope)
        defaults = [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]
        given = {id(d): self.value(d) for d in defaults}
        self.program.defaults(function, given, self)
        types: Types = frozenset({function})
        for decorator in reversed(node.decorator_list):
            types = self.decorated(decorator, types, function)
        self.bind(node.name, types)

    def define_class(self, node: ast.ClassDef) -> None:
        cls = self.program.class_(node, self.scope)
        bases = [(base, v) for base in node.bases for v in self.value(base)]
        cls.bases = [v for _, v in bases if isinstance(v, (Class, Api, Foreign))]
        for base, v in bases:
            if isinstance(v, Api):
                self.use(base, v.name, "base")
        for keyword in node.keywords:
            self.value(keyword.value)
        outside, self.scope = (self.scope, self.env), cls.scope
        self.env = {}
        self.block(node.body)
        self.scope, self.env = outside
        types: Types = frozenset({cls})
        for decorator in reversed(node.decorator_list):
            made = self.call(decorator, self.value(decorator), [types], {})
            types = types if not made or any(isinstance(v, Unknown) for v in made) else types
        self.bind(node.name, types)

    # --- imports ----------------------------------------------------------------------------------
    def import_(self, node: ast.Import) -> None:
        for alias in node.names:
            whole = self.imported(node, alias.name)
            top = alias.name.partition(".")[0]
            self.bind(alias.asname or top, whole if alias.asname else self.imported(None, top))

    def import_from(self, node: ast.ImportFrom) -> None:
        module = self.absolute(node)
        for alias in node.names:
            if alias.name == "*":
                for name, types in self.star(node, module).items():
                    self.bind(name, types)
            else:
                self.bind(alias.asname or alias.name, self.imported_name(node, module, alias.name))

    STATEMENTS: ClassVar[dict[type, Any]] = {
        ast.Expr: expression,
        ast.Assign: assignment,
        ast.AnnAssign: annotated,
        ast.AugAssign: augmented,
        ast.Return: returned,
        ast.Break: jump,
        ast.Continue: jump,
        ast.Raise: raised,
        ast.If: branch,
        ast.For: loop_for,
        ast.AsyncFor: loop_for,
        ast.While: loop_while,
        ast.With: with_,
        ast.AsyncWith: with_,
        ast.Try: try_,
        ast.Match: match,
        ast.Delete: delete,
        ast.Assert: assertion,
        ast.Global: declared_outer,
        ast.Nonlocal: declared_outer,
        ast.FunctionDef: define_function,
        ast.AsyncFunctionDef: define_function,
        ast.ClassDef: define_class,
        ast.Import: import_,
        ast.ImportFrom: import_from,
        **({ast.TryStar: try_} if hasattr(ast, "TryStar") else {}),
    }


def joined(ends: list[Env | None]) -> Env | None:
    """What the names hold where several ways come together."""
    live = [e for e in ends if e is not None]
    if len(live) < 2:
        return dict(live[0]) if live else None
    first, *rest = live
    together = dict(first)
    for env in rest:
        for name, types in env.items():
            known = together.get(name)
            if known is None:
                together[name] = types
            elif known is not types:
                together[name] = join(known, types)
    return together
