"""Rewrites a module's imports of torch and torchvision, and nothing else of its text."""

from __future__ import annotations

import codecs
import functools
import importlib.metadata
import re
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
# Linked to PyTorch's own C++ library.
BINARY = frozenset(
    [
        "torchaudio",
        "torchtext",
        "torchcodec",
        "torchao",
        "torchrec",
        "torch_scatter",
        "torch_sparse",
        "torch_cluster",
        "torch_spline_conv",
        "pyg_lib",
        "torch_xla",
        "detectron2",
        "fairseq",
        "mmcv",
        "pytorch3d",
        "bitsandbytes",
        "flash_attn",
        "xformers",
        "apex",
        "deepspeed",
        "spconv",
        "MinkowskiEngine",
        "fbgemm_gpu",
    ]
)


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
    return apply(data, Finder())


def apply(data: bytes, finder: Positioned) -> Rewritten:
    """The module with the edits that a visitor asks for."""
    mark = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    module = cst.parse_module(data.removeprefix(mark))
    libcst.metadata.MetadataWrapper(module, unsafe_skip_copy=True).visit(finder)
    text = edited(data.removeprefix(mark).decode(module.encoding), finder.edits)
    changed = sorted({edit.line for edit in finder.edits})
    return Rewritten(mark + text.encode(module.encoding), tuple(changed), tuple(finder.remarks))


@dataclass(frozen=True)
class Edit:
    """A stretch of the text, by lines from 1 and columns from 0, and what takes its place."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


def edited(text: str, edits: list[Edit]) -> str:
    """The text with the edits; LibCST's own output loses a blank here and there (`except OSError :`)."""
    starts = [0, *(m.end() for m in re.finditer("\r\n|\n|\r", text)), len(text)]
    # What is inserted at a place goes before what is replaced there.
    for edit in sorted(edits, key=lambda e: (e.line, e.column, e.end_line, e.end_column), reverse=True):
        begin, end = starts[edit.line - 1] + edit.column, starts[edit.end_line - 1] + edit.end_column
        text = text[:begin] + edit.text + text[end:]
    return text


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


class Positioned(cst.CSTVisitor):
    """A visitor that gathers edits of the text, and what a person has to look at."""

    METADATA_DEPENDENCIES = (libcst.metadata.PositionProvider,)

    def __init__(self) -> None:
        super().__init__()
        self.edits: list[Edit] = []
        self.remarks: list[Remark] = []

    def place(self, node: cst.CSTNode) -> Any:
        return self.get_metadata(libcst.metadata.PositionProvider, node)

    def remark(self, node: cst.CSTNode, text: str) -> None:
        self.remarks.append(Remark(self.place(node).start.line, text))

    def replace(self, node: cst.CSTNode, text: str) -> None:
        at = self.place(node)
        self.edits.append(Edit(at.start.line, at.start.column, at.end.line, at.end.column, text))


class Finder(Positioned):
    """Finds imports, and names of modules in strings."""

    def __init__(self) -> None:
        super().__init__()
        self.users: set[str] = set()
        self.aliased = False

    def note_user(self, node: cst.CSTNode, name: str) -> None:
        top = name.partition(".")[0]
        self.aliased |= name == ALIAS
        if top in BINARY:
            self.remark(node, f"{top} is linked to PyTorch's own C++ library and cannot run on ms_adapter")
        if uses_torch(top):
            self.users.add(top)

    # --- import statements ----------------------------------------------------------------------------
    def visit_Import(self, node: cst.Import) -> None:  # noqa: N802  LibCST's names
        for alias in node.names:
            name = libcst.helpers.get_full_name_for_node_or_raise(alias.name)
            self.note_user(node, name)
            new = home(name)
            if new is not None:
                text = new if alias.asname is not None else bound(name, new)
                self.replace(alias.name, text)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:  # noqa: N802
        if node.relative or node.module is None:
            return
        name = libcst.helpers.get_full_name_for_node_or_raise(node.module)
        self.note_user(node, name)
        new = home(name)
        if new is not None:
            self.replace(node.module, new)

    # --- names in strings -------------------------------------------------------------------------------
    def visit_Call(self, node: cst.Call) -> None:  # noqa: N802
        called = libcst.helpers.get_full_name_for_node(node.func) or ""
        if called.rpartition(".")[2] not in IMPORTERS or not node.args:
            return
        first = node.args[0].value
        if not isinstance(first, cst.SimpleString):
            self.remark(node, f"{called}(...) of a computed name: if it names torch, PyTorch is loaded")
            return
        name = first.evaluated_value
        new = home(name) if isinstance(name, str) else None
        if new is None:
            return
        if called == "__import__":
            self.remark(node, "__import__ gives the top package: write importlib.import_module")
        else:
            self.replace(first, first.prefix + first.quote + new + first.quote)

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

    def leave_Module(self, original_node: cst.Module) -> None:  # noqa: N802
        """Before the first import of a library that imports torch itself, the alias has to be there."""
        if not self.users or self.aliased:
            return
        users = sorted(self.users)
        verb = "imports" if len(users) == 1 else "import"
        body = list(original_node.body)
        at = 0
        while at < len(body) - 1 and is_prologue(body[at], first=at == 0):
            at += 1
        start = self.place(body[at]).start
        text = f"import {ALIAS}  # {', '.join(users)} {verb} torch{original_node.default_newline}"
        self.edits.append(Edit(start.line, start.column, start.line, start.column, text))


def bound(name: str, new: str) -> str:
    """What replaces `torch.nn`, which binds `torch` and loads nn: both have to be said."""
    top = name.partition(".")[0]
    whole = f"{HOMES[top]} as {top}"
    return whole if new == HOMES[top] else f"{whole}, {new}"


def bound_name(alias: cst.ImportAlias, name: str) -> str:
    """What an alias of an import binds: of `import torch.nn`, `torch`."""
    if alias.asname is not None:
        return libcst.helpers.get_full_name_for_node_or_raise(alias.asname.name)
    return name.partition(".")[0] or libcst.helpers.get_full_name_for_node_or_raise(alias.name)


def code_of(node: Any) -> str:
    nodes = node if isinstance(node, (list, tuple)) else [node]
    return "".join(cst.Module([]).code_for_node(n) for n in nodes)


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
