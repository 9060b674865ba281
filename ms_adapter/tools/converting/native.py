"""`convert --to mindspore`: MindSpore's own names for what the map calls identical, a word at the rest.

What has no identical counterpart stays PyTorch's, on ms_adapter: its imports are rewritten as without the
option.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import libcst as cst
import libcst.helpers
import libcst.metadata

from ms_adapter.tools import mapping
from ms_adapter.tools.scanning import api
from ms_adapter.tools.scanning.program import Use
from ms_adapter.tools.scanning.source import decoded

from .rewrite import Edit, Positioned, Rewritten, apply, bound_name, is_prologue, rewrite

MODULE = "torch.nn.Module"  # a Cell in MindSpore, whose `forward` is called `construct`
SAME_IN_CELLS = frozenset({f"{MODULE}.__init__", f"{MODULE}.__call__"})
MARK = "# mindspore: "
OPERATIONS = (cst.BinaryOperation, cst.UnaryOperation, cst.Comparison, cst.Subscript, cst.AugAssign)


@dataclass(frozen=True)
class Judgement:
    """Whether a name is written MindSpore's way, and what a person has to know of it."""

    to: str  # MindSpore's name; empty: it stays
    why: str = ""
    detail: str = ""
    known: bool = False  # that MindSpore's differs or is missing, which a comment says


def judged(name: str, loud: bool) -> Judgement:
    """By the map: what is identical for ordinary numbers. `loud`: so are names whose every other difference
    shows itself by an error."""
    record = mapping.lookup(name)
    if record is None:
        return Judgement("", "is not in the map")
    best = record.best
    if best is None:
        return Judgement("", "is missing in MindSpore", known=True)
    detail = "; ".join(d.text for d in best.differences[:2]) or best.unmeasured
    if record.verdict == "identical":
        return Judgement(best.name)
    taken = name == MODULE or best.ordinary or (loud and best.loud)
    why = f"{record.summary} ({best.name})"
    known = record.verdict == "differs" and not best.ordinary
    return Judgement(best.name if taken else "", why, detail, known)


def cell_names(trees: Iterable[tuple[ast.AST, list[Use]]]) -> frozenset[str]:
    """The names of the project's classes that inherit from torch.nn.Module, whichever file they are in."""
    bases: dict[str, set[str]] = defaultdict(set)
    for tree, uses in trees:
        modules = {(u.line, u.end_column) for u in uses if u.name == MODULE}
        for node in ast.walk(tree):
            if not isinstance(node, ast.ClassDef):
                continue
            for base in node.bases:
                end = (base.end_lineno, base.end_col_offset)
                last = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
                bases[node.name].add(MODULE if end in modules else last)
    found = {MODULE}
    while more := {name for name, of in bases.items() if of & found} - found:
        found |= more
    return frozenset(found - {MODULE})


def native(data: bytes, uses: list[Use], cells: frozenset[str], loud: bool = False) -> Rewritten:
    """The module in MindSpore's names as far as they are identical; raises as `rewrite` does."""
    plain, lines = rewrite(data), decoded(data).split("\n")
    if not uses or (not plain.changed and is_marked(lines)):
        return plain
    first = apply(data, Native(lines, uses, cells, loud))
    rest = rewrite(first.data)  # what is still PyTorch's
    remarks = sorted({*first.remarks, *rest.remarks}, key=lambda r: (r.line, r.text))
    return Rewritten(rest.data, first.changed or rest.changed, tuple(remarks))


def is_marked(lines: list[str]) -> bool:
    """Whether a conversion has been here: what is inferred after it is less than it knew."""
    return any(re.match(rf"\s*({MARK}|import mindspore$)", line) for line in lines)


def places(lines: list[str], uses: list[Use]) -> dict[tuple[int, int], list[Use]]:
    """The uses by line and by the column, in characters, where the name ends."""
    found: dict[tuple[int, int], list[Use]] = defaultdict(list)
    for use in uses:
        if use.kind != "import" and use.line <= len(lines):
            before = lines[use.line - 1].encode()[: use.end_column].decode("utf-8", "replace")
            found[use.line, len(before)].append(use)
    return found


@dataclass
class Import:
    """An import statement of torch's, and the names that it binds."""

    node: cst.Import | cst.ImportFrom
    line: cst.SimpleStatementLine | None
    names: list[str] = field(default_factory=list)
    others: list[str] = field(default_factory=list)  # aliases of `import os, torch` that are not torch's


class Native(Positioned):
    """Finds what is written MindSpore's way, and what is marked."""

    def __init__(self, lines: list[str], uses: list[Use], cells: frozenset[str], loud: bool) -> None:
        super().__init__()
        self.lines, self.uses, self.cells, self.loud = lines, places(lines, uses), cells, loud
        self.imports: list[Import] = []
        self.left: Counter[str] = Counter()  # names that are still read
        self.replaced: set[str] = set()  # names at the head of what was replaced
        self.marks: dict[int, dict[str, str]] = defaultdict(dict)  # by the line that a statement starts in
        self.statements: list[cst.CSTNode] = []
        self.classes: list[bool] = []  # whether each of the classes around is a cell
        self.has_mindspore = False

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
            self.statements.append(node)
        return super().on_visit(node)

    def on_leave(self, original_node: cst.CSTNode) -> None:  # type: ignore[override]
        super().on_leave(original_node)
        if isinstance(original_node, OPERATIONS):
            self.operator(original_node)
        if self.statements and self.statements[-1] is original_node:
            self.statements.pop()

    def mark(self, node: cst.CSTNode, name: str, judgement: Judgement) -> None:
        """The whole reason goes into the report, and what is known to differ to the statement as well."""
        if judgement.known:
            line = self.place(self.statements[-1] if self.statements else node).start.line
            self.marks[line][name] = judgement.why
        detail = f": {judgement.detail}" if judgement.detail else ""
        self.remark(node, f"{name} {judgement.why}{detail}")

    # --- names ------------------------------------------------------------------------------------------
    def at(self, node: cst.CSTNode) -> list[Use]:
        end = self.place(node).end
        return self.uses.get((end.line, end.column), [])

    def visit_Attribute(self, node: cst.Attribute) -> bool:  # noqa: N802  LibCST's names
        if not self.took(node, node.attr):
            node.value.visit(self)
        return False

    def visit_Name(self, node: cst.Name) -> None:  # noqa: N802
        if not self.took(node, node):
            self.left[node.value] += 1

    def took(self, node: cst.Attribute | cst.Name, last: cst.Name) -> bool:
        """Write the name that ends here MindSpore's way; whether that took the place of all of the node."""
        if last.value == "forward" and isinstance(node, cst.Attribute):
            self.forward(node)
        uses = [u for u in self.at(node) if u.kind != "operator"]
        names = {u.name for u in uses if not u.why}
        if len(names) != 1 or any(u.why for u in uses):
            for use in uses:
                self.remark(node, f"{use.name}: {use.why or 'it may be several things'}")
            return False
        name = names.pop()
        if name in SAME_IN_CELLS:
            return False
        judgement = judged(name, self.loud)
        if judgement.why:
            self.mark(node, name, judgement)
        if not judgement.to:
            return False
        new, owner = judgement.to, name.rpartition(".")[0]
        if api.is_class(owner) and not api.is_module(owner):  # of an object: what it is taken from stays
            if new.rpartition(".")[2] != last.value:
                self.replace(last, new.rpartition(".")[2])
            return False
        dotted = libcst.helpers.get_full_name_for_node(node)
        if dotted is None:
            return False
        self.replace(node, new)
        self.replaced.add(dotted.partition(".")[0])
        return True

    def forward(self, node: cst.Attribute) -> None:
        """`self.forward` and `super().forward` of a cell follow the method's new name."""
        text = libcst.helpers.get_full_name_for_node(node.value)
        if self.classes and self.classes[-1] and text in ("self", "super"):
            self.replace(node.attr, "construct")
        elif self.cells:
            self.remark(node, "calls forward by its name: a Cell's method is construct")

    def operator(self, node: cst.CSTNode) -> None:
        """Operators stay as they are written; where other numbers may come of it, that is said."""
        for use in self.at(node):
            record = mapping.lookup(use.name) if use.kind == "operator" else None
            if record is None or record.verdict == "unmeasured":
                continue
            if record.best is None or not record.best.loud:
                self.mark(node, use.name, judged(use.name, self.loud))

    # --- classes ------------------------------------------------------------------------------------------
    def visit_ClassDef(self, node: cst.ClassDef) -> None:  # noqa: N802
        cell = node.name.value in self.cells
        self.classes.append(cell)
        for statement in node.body.body if cell else ():
            if isinstance(statement, cst.FunctionDef) and statement.name.value == "forward":
                self.replace(statement.name, "construct")

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:  # noqa: N802
        self.classes.pop()

    # --- imports ------------------------------------------------------------------------------------------
    def visit_Import(self, node: cst.Import) -> bool:  # noqa: N802
        found = self.note_import(node)
        for alias in node.names:
            name = libcst.helpers.get_full_name_for_node_or_raise(alias.name)
            self.has_mindspore |= name == "mindspore" and alias.asname is None
            if api.is_api(api.theirs(name)):
                found.names.append(bound_name(alias, name))
            else:
                found.others.append(
                    cst.Module([]).code_for_node(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT))
                )
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:  # noqa: N802
        name = libcst.helpers.get_full_name_for_node(node.module) if node.module else ""
        if not node.relative and api.is_api(api.theirs(name or "")):
            found = self.note_import(node)
            if isinstance(node.names, cst.ImportStar):
                self.left["*"] += 1
                found.names.append("*")
            else:
                found.names += [bound_name(alias, "") for alias in node.names]
        return False

    def note_import(self, node: cst.Import | cst.ImportFrom) -> Import:
        whole = self.statements[-1]
        line = whole if isinstance(whole, cst.SimpleStatementLine) and len(self.statements) == 1 else None
        self.imports.append(Import(node, line if line is not None and len(line.body) == 1 else None))
        return self.imports[-1]

    def leave_Module(self, original_node: cst.Module) -> None:  # noqa: N802
        newline = original_node.default_newline
        wanted = bool(self.replaced) and not self.has_mindspore
        for found in self.imports:
            spent = bool(found.names) and all(n in self.replaced and not self.left[n] for n in found.names)
            if found.names and wanted and found.line is not None:
                wanted = False
                if spent and not found.others:
                    self.replace(found.node, "import mindspore")
                    continue
                self.insert(self.place(found.line).start.line, f"import mindspore{newline}")
            if spent:
                self.drop(found)
        if wanted:
            body = list(original_node.body)
            at = next((k for k, s in enumerate(body) if not is_prologue(s, first=k == 0)), 0)
            self.insert(self.place(body[at]).start.line, f"import mindspore{newline}")
        for line, names in self.marks.items():
            self.insert_marks(line, [f"{name} {why}" for name, why in names.items()], newline)

    def insert_marks(self, line: int, texts: list[str], newline: str) -> None:
        """Comments above a statement, unless they are there already."""
        indent = re.match(r"\s*", self.lines[line - 1])[0]  # type: ignore[index]
        marks = [f"{indent}{MARK}{text}" for text in texts]
        if self.lines[max(line - 1 - len(marks), 0) : line - 1] != marks:
            self.insert(line, "".join(mark + newline for mark in marks))

    def insert(self, line: int, text: str) -> None:
        self.edits.append(Edit(line, 0, line, 0, text))

    def drop(self, found: Import) -> None:
        """Take out an import of names that are all written MindSpore's way now."""
        at = self.place(found.node)
        if found.others:
            self.replace(found.node, f"import {', '.join(found.others)}")
        elif found.line is not None and found.line.trailing_whitespace.comment is None:
            self.edits.append(Edit(at.start.line, 0, at.end.line + 1, 0, ""))
        else:
            self.replace(found.node, "import mindspore")
