"""Where names live, and the order of work: code runs again when something that it read has grown."""

from __future__ import annotations

import ast
from collections import deque
from dataclasses import dataclass, field

from .values import NOTHING, Class, Function, Module, Types, join

MOST_RUNS = 12  # of one unit: types grow in few steps, and what still changes then gains little


@dataclass(eq=False, slots=True)
class Cell:
    """The values that a name, parameter, attribute or function's result may have, over the whole run."""

    types: Types = NOTHING
    readers: set[Unit] = field(default_factory=set)


@dataclass(eq=False, slots=True)
class Scope:
    """A module, class or function: the cells of its names, and where names that it lacks are looked up."""

    kind: str  # module, class or function
    module: Module
    parent: Scope | None = None
    cells: dict[str, Cell] = field(default_factory=dict)
    outer: set[str] = field(default_factory=set)  # declared global or nonlocal here
    cls: Class | None = None  # of which it is the body, or a method

    def cell(self, name: str) -> Cell:
        found = self.cells.get(name)
        if found is None:
            found = self.cells[name] = Cell()
        return found


@dataclass(eq=False, slots=True)
class Unit:
    """Code that runs as a whole: the body of a module or of a function."""

    scope: Scope
    body: list[ast.stmt]
    function: Function | None = None
    params: dict[str, Cell] = field(default_factory=dict)
    result: Cell = field(default_factory=Cell)
    yields: Cell = field(default_factory=Cell)
    uses: list = field(default_factory=list)
    runs: int = 0
    waiting: bool = False
    called: bool = False  # somebody in the project calls it


class Work:
    """The units to run, each once at a time."""

    def __init__(self) -> None:
        self.queue: deque[Unit] = deque()

    def add(self, unit: Unit) -> None:
        if not unit.waiting and unit.runs < MOST_RUNS:
            unit.waiting = True
            self.queue.append(unit)

    def next(self) -> Unit | None:
        if not self.queue:
            return None
        unit = self.queue.popleft()
        unit.waiting = False
        unit.runs += 1
        return unit

    def grow(self, cell: Cell, types: Types) -> None:
        """Add to what a cell may hold; whoever read it runs again."""
        if types <= cell.types:
            return
        grown = join(cell.types, types)
        if grown != cell.types:
            cell.types = grown
            for unit in cell.readers:
                self.add(unit)
