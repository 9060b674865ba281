"""Rewrites a module's imports of torch and torchvision, and nothing else of its text."""

from __future__ import annotations

import functools
import importlib.metadata
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import libcst as cst
import libcst.helpers
import libcst.metadata

HOMES = {"torch": "ms_adapter.pytorch", "torchvision": "ms_adapter.torchvision"}
ALIAS = "ms_adapter.as_torch"
# Libraries that import torch themselves, where they are not installed and so cannot be asked.
KNOWN_USERS = frozenset(
    {
        *(
            "accelerate",
            "captum",
            "detectron2",
            "diffusers",
            "einops",
            "fairseq",
            "fastai",
            "gpytorch",
            "ignite",
        ),
        *("kornia", "lightning", "monai", "peft", "pytorch_lightning", "segmentation_models_pytorch", "timm"),
        *("sentence_transformers", "torchaudio", "torchdiffeq", "torchmetrics", "torchtext", "transformers"),
        *("x_transformers", "vit_pytorch"),
    }
)
IMPORTERS = ("import_module", "__import__", "find_spec", "importorskip")
BINARY = frozenset(
    {"torchaudio", "torchtext", "detectron2", "fairseq"}
)  # linked to PyTorch's own C++ library


@dataclass(frozen=True)
class Remark:
    """A place that a person has to look at."""

    line: int
    text: str


@dataclass(frozen=True)
class Rewritten:
    """The new text of a module, what was changed where, and what is left to a person."""

    data: bytes
    changed: tuple[int, ...]
    remarks: tuple[Remark, ...]


def rewrite(data: bytes, always: bool = False) -> Rewritten:
    """The module with its imports rewritten; raises libcst.ParserSyntaxError for what is no Python 3.

    What does not mention torch is not even parsed, unless `always`.
    """
    if not always and not re.search(rb"\btorch", data):
        return Rewritten(data, (), ())
    wrapper = libcst.metadata.MetadataWrapper(cst.parse_module(data), unsafe_skip_copy=True)
    rewriter = Rewriter()
    module = wrapper.visit(rewriter)
    if rewriter.users and not rewriter.aliased:
        module = with_alias(module, sorted(rewriter.users))
    return Rewritten(module.bytes, tuple(rewriter.changed), tuple(rewriter.remarks))


def home(name: str) -> str | None:
    """`torch.nn` -> `ms_adapter.pytorch.nn`; None for what stays."""
    top, dot, rest = name.partition(".")
    return HOMES[top] + dot + rest if top in HOMES else None


@functools.cache
def uses_torch(top: str) -> bool:
    """Whether a library imports torch itself: by what it requires where it is installed, else by its name."""
    if top in HOMES:
        return False
    for distribution in importlib.metadata.packages_distributions().get(top, ()):
        for line in importlib.metadata.requires(distribution) or ():
            if re.match(r"torch\b", line) and "extra ==" not in line:
                return True
    return top in KNOWN_USERS


def dotted(name: str) -> Any:
    return libcst.helpers.parse_template_expression(name)


class Rewriter(cst.CSTTransformer):
    """The rewriting; LibCST keeps every other character as it was."""

    METADATA_DEPENDENCIES = (libcst.metadata.PositionProvider,)

    def __init__(self) -> None:
        self.changed: list[int] = []
        self.remarks: list[Remark] = []
        self.users: set[str] = set()
        self.aliased = False

    def line(self, node: cst.CSTNode) -> int:
        return self.get_metadata(libcst.metadata.PositionProvider, node).start.line

    def remark(self, node: cst.CSTNode, text: str) -> None:
        self.remarks.append(Remark(self.line(node), text))

    def note_user(self, node: cst.CSTNode, name: str) -> None:
        top = name.partition(".")[0]
        self.aliased |= name == ALIAS
        if uses_torch(top):
            self.users.add(top)
            if top in BINARY:
                self.remark(
                    node, f"{top} is linked to PyTorch's own C++ library and cannot run on ms_adapter"
                )

    # --- import statements ----------------------------------------------------------------------------
    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.Import:  # noqa: N802
        names: list[cst.ImportAlias] = []
        for alias in updated_node.names:
            name = libcst.helpers.get_full_name_for_node_or_raise(alias.name)
            self.note_user(original_node, name)
            names += self.moved(alias, name)
        if all(a is b for a, b in zip(names, updated_node.names, strict=False)):
            return updated_node
        self.changed.append(self.line(original_node))
        return updated_node.with_changes(names=separated(names, updated_node.names))

    def moved(self, alias: cst.ImportAlias, name: str) -> list[cst.ImportAlias]:
        """`torch.nn` binds `torch` and loads nn: both have to be said."""
        new = home(name)
        if new is None:
            return [alias]
        if alias.asname is not None:
            return [alias.with_changes(name=dotted(new))]
        top = name.partition(".")[0]
        bound = cst.ImportAlias(dotted(HOMES[top]), cst.AsName(cst.Name(top)))
        return [bound] if new == HOMES[top] else [bound, cst.ImportAlias(dotted(new))]

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.ImportFrom:  # noqa: N802
        if updated_node.relative or updated_node.module is None:
            return updated_node
        name = libcst.helpers.get_full_name_for_node_or_raise(updated_node.module)
        self.note_user(original_node, name)
        new = home(name)
        if new is None:
            return updated_node
        self.changed.append(self.line(original_node))
        return updated_node.with_changes(module=dotted(new))

    # --- names in strings -------------------------------------------------------------------------------
    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:  # noqa: N802
        called = libcst.helpers.get_full_name_for_node(updated_node.func) or ""
        if called.rpartition(".")[2] not in IMPORTERS or not updated_node.args:
            return updated_node
        first = updated_node.args[0]
        if not isinstance(first.value, cst.SimpleString):
            self.remark(
                original_node, f"{called}(...) of a computed name: if it names torch, PyTorch is loaded"
            )
            return updated_node
        name = first.value.evaluated_value
        new = home(name) if isinstance(name, str) else None
        if new is None:
            return updated_node
        if called == "__import__" and "." in name:
            self.remark(original_node, "__import__ gives the top package: write importlib.import_module")
            return updated_node
        self.changed.append(self.line(original_node))
        quote = first.value.quote
        literal = cst.SimpleString(first.value.prefix + quote + new + quote)
        return updated_node.with_changes(args=[first.with_changes(value=literal), *updated_node.args[1:]])

    def visit_Subscript(self, node: cst.Subscript) -> None:  # noqa: N802
        if libcst.helpers.get_full_name_for_node(node.value) == "sys.modules" and "torch" in code_of(
            node.slice
        ):
            self.remark(
                node, "sys.modules is asked for torch: under this name it holds nothing of ms_adapter"
            )

    def visit_Comparison(self, node: cst.Comparison) -> None:  # noqa: N802
        if re.match(r"""["']torch["'] (not )?in sys\.modules""", code_of(node)):
            self.remark(
                node, "sys.modules is asked for torch: under this name it holds nothing of ms_adapter"
            )


def code_of(node: Any) -> str:
    nodes = node if isinstance(node, (list, tuple)) else [node]
    return "".join(cst.Module([]).code_for_node(n) for n in nodes)


def separated(names: Sequence[cst.ImportAlias], old: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    """The names with commas between them, the old ones where they were."""
    comma = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
    kept = [a.comma for a in old if isinstance(a.comma, cst.Comma)]
    commas = [*kept, *[comma] * len(names)][: len(names) - 1]
    return [n.with_changes(comma=c) for n, c in zip(names, [*commas, cst.MaybeSentinel.DEFAULT], strict=True)]


def with_alias(module: cst.Module, users: list[str]) -> cst.Module:
    """The module with the alias before its first import, since those libraries import torch themselves."""
    body = list(module.body)
    at = 0
    while at < len(body) and is_prologue(body[at], first=at == 0):
        at += 1
    verb = "imports" if len(users) == 1 else "import"
    text = f"import {ALIAS}  # {', '.join(users)} {verb} torch"
    statement: Any = cst.parse_statement(text, module.config_for_parsing)
    if at < len(body):
        follower: Any = body[at]
        statement = statement.with_changes(leading_lines=follower.leading_lines)
        body[at] = follower.with_changes(leading_lines=[])
    return module.with_changes(body=[*body[:at], statement, *body[at:]])


def is_prologue(statement: cst.CSTNode, first: bool) -> bool:
    """Whether it has to stay before any import: the docstring, imports from __future__."""
    if not isinstance(statement, cst.SimpleStatementLine):
        return False
    inside = statement.body[0]
    if isinstance(inside, cst.Expr):
        return first and isinstance(inside.value, (cst.SimpleString, cst.ConcatenatedString))
    if not isinstance(inside, cst.ImportFrom) or inside.module is None:
        return False
    return libcst.helpers.get_full_name_for_node(inside.module) == "__future__"
