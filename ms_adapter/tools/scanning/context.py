"""What the parts of a run share: the unit it is in, and what each part asks of the others."""

from __future__ import annotations

import ast
from typing import Any

from .scope import Cell, Scope, Unit, Work
from .values import Object, Types, Value


class Context:
    """The state of one run, and the methods that the classes built on this one give each other."""

    program: Any
    work: Work
    unit: Unit
    scope: Scope
    env: Any  # dict of Types; None where control never comes
    uses: dict
    loops: list[list[dict[str, Types]]]
    calling: list[ast.Call]
    opened: list[Object]

    def value(self, node: ast.expr, silent: bool = False) -> Types:
        raise NotImplementedError

    def attribute(self, node: ast.Attribute, kind: str = "read") -> Types:
        raise NotImplementedError

    def attribute_of(self, node: ast.Attribute, owner: Value, kind: str) -> Types:
        raise NotImplementedError

    def assign(self, target: ast.expr, types: Types) -> None:
        raise NotImplementedError

    def rebind(self, target: ast.expr, types: Types) -> None:
        raise NotImplementedError

    def home(self, name: str) -> Cell:
        raise NotImplementedError

    def annotation(self, node: ast.expr) -> Types:
        raise NotImplementedError

    def use(self, node: ast.AST | None, name: str, kind: str, at: ast.AST | None = None) -> None:
        raise NotImplementedError

    def unsure(self, node: ast.Attribute, name: str, why: str) -> None:
        raise NotImplementedError
