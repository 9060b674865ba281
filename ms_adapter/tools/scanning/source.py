"""Reading Python as it lies around: syntax of 3.8 to 3.13, notebooks, wrong encodings, broken files."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from .cells import notebook

SKIPPED = {
    ".git",
    ".hg",
    ".tox",
    ".nox",
    "__pycache__",
    "node_modules",
    "site-packages",
    ".venv",
    "venv",
    "build",
    "dist",
}
LARGEST_BYTES = 4 << 20  # beyond that a file is data, not a program


@dataclass
class Source:
    """A file's program: its tree, or the reason why there is none."""

    path: Path
    lines: list[str]
    tree: ast.Module | None
    error: str = ""
    # Of a notebook: (number of the cell, line in it) for each line of the program.
    cells: list[tuple[int, int]] | None = None


def files(paths: list[Path]) -> list[Path]:
    """The Python files and notebooks in folders, and the files named themselves."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = (p for p in path.rglob("*") if p.suffix in (".py", ".ipynb") and p.is_file())
            found.update(
                (p, None) for p in sorted(inside) if not SKIPPED & set(p.relative_to(path).parts[:-1])
            )
        else:
            found[path] = None
    return list(found)


def read(path: Path) -> Source:
    """Parse a file; what cannot be read or parsed becomes the error of the result."""
    try:
        if path.stat().st_size > LARGEST_BYTES:
            return Source(path, [], None, f"larger than {LARGEST_BYTES >> 20} MiB: passed over")
        data = path.read_bytes()
        text, cells = notebook(data) if path.suffix == ".ipynb" else (decoded(data), None)
    except (OSError, UnicodeError, SyntaxError, ValueError, KeyError, TypeError) as err:
        return Source(path, [], None, f"cannot be read: {err}")
    return from_text(path, text, cells)


def from_text(path: Path, text: str, cells: list[tuple[int, int]] | None = None) -> Source:
    """The same of a text that is at hand, as in an editor."""
    lines = text.removesuffix("\n").split("\n") if text else []  # as Python counts them
    try:
        return Source(path, lines, parse(text), cells=cells)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as err:
        where = f" at line {err.lineno}" if isinstance(err, SyntaxError) and err.lineno else ""
        return Source(path, lines, None, f"cannot be parsed{where}: {getattr(err, 'msg', err)}", cells)


def siblings(path: Path, most: int = 200) -> list[Source]:
    """The other modules of the package or folder that a file is in: what it is likely to import."""
    folder = path.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    near = [p for p in files([folder]) if p.suffix == ".py" and p.resolve() != path.resolve()]
    return [read(p) for p in near[:most]]


def decoded(data: bytes) -> str:
    """The text, by its declared encoding; Latin-1 where that is wrong, so that names can still be read."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def parse(text: str) -> ast.Module:
    """The tree of a program in any syntax from Python 3.8 to 3.13."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of invalid escapes: not ours to tell
        try:
            return ast.parse(text)
        except SyntaxError as first:
            try:
                older = in_older_syntax(text)
            except Exception:
                raise first from None
            return ast.parse(older)


def in_older_syntax(text: str) -> str:
    """The program with what this interpreter may not know yet written in the older way, on the same lines."""
    import libcst  # only where it is needed: it takes longer to load than most files to scan

    class Older(libcst.CSTTransformer):
        def leave_FunctionDef(self, original_node, updated_node):  # noqa: N802  LibCST's names
            return updated_node.with_changes(type_parameters=None)

        def leave_ClassDef(self, original_node, updated_node):  # noqa: N802
            return updated_node.with_changes(type_parameters=None)

        def leave_TypeAlias(self, original_node, updated_node):  # noqa: N802
            target = libcst.AssignTarget(target=updated_node.name)
            return libcst.Assign(targets=[target], value=updated_node.value)

        def leave_FormattedString(self, original_node, updated_node):  # noqa: N802
            inside = [
                p.expression for p in updated_node.parts if isinstance(p, libcst.FormattedStringExpression)
            ]
            if not inside or updated_node.prefix.lower().startswith("rf"):
                return updated_node
            called = libcst.Attribute(libcst.SimpleString('""'), libcst.Name("format"))
            return libcst.Call(called, [libcst.Arg(e) for e in inside])  # the same names are used, as a call

    return libcst.parse_module(text).visit(Older()).code
