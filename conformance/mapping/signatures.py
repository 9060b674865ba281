"""The signatures of a callable, all its overloads: from Python itself where it knows, else from the docstring
or PyTorch's schemas."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass, replace
from typing import Any

REQUIRED = "<required>"
CELLS_OWN = ("auto_prefix", "flags")  # of every Cell that has no constructor of its own
POSITIONAL, KEYWORD, STAR, STARS = "positional", "keyword", "*", "**"


@dataclass(frozen=True)
class Parameter:
    """One parameter; `default` is source text."""

    name: str
    default: str = REQUIRED
    kind: str = POSITIONAL

    def __str__(self) -> str:
        if self.kind in (STAR, STARS):
            return self.kind + self.name
        return self.name if self.default == REQUIRED else f"{self.name}={self.default}"


Signature = tuple[Parameter, ...]


def text(signature: Signature) -> str:
    """As it is written: `(input, dim=None, *, dtype=None)`."""
    parts, starred = [], False
    for p in signature:
        starred |= p.kind == STAR
        if p.kind == KEYWORD and not starred:
            parts.append("*")
            starred = True
        parts.append(str(p))
    return f"({', '.join(parts)})"


def of(found: Any, method: bool = False) -> list[Signature]:
    """All overloads; a method's without its `self`. Empty where nobody says."""
    if inspect.isclass(found):
        made = from_python(found.__init__)
        return [tuple(p for p in made[1:] if p.name not in CELLS_OWN)] if made else []
    documented = from_document(found, method)
    plain = from_python(found)
    if plain is not None and method and plain and plain[0].name in ("self", "input", "tensor"):
        plain = plain[1:]
    if len(documented) > 1 or plain is None or _says_nothing(plain):
        schemas = from_schemas(found, method)
        if not all(_fits(s, schemas) for s in documented):
            documented = []
        return (
            [_corrected(s, schemas, len(documented) > 1) for s in documented]
            or schemas
            or ([plain] if plain is not None else [])
        )
    return [plain]


def _fits(documented: Signature, schemas: list[Signature]) -> bool:
    """Whether a schema has all parameters that a docstring gives, and asks for no others."""
    names = {p.name for p in documented if p.name != "out"}
    asked = [{p.name for p in s if p.default == REQUIRED} for s in schemas]
    starred = any(p.kind == STAR for p in documented)
    return (
        not schemas
        or starred
        or any(names <= {p.name for p in s} and (names or not need) for s, need in zip(schemas, asked))
    )


def _corrected(signature: Signature, schemas: list[Signature], one_of_many: bool) -> Signature:
    """A documented signature with the defaults of the schema that has all its parameters: a docstring
    may give None for another, or one where there is none (or stand for several overloads at once)."""
    names = {p.name for p in signature if p.name != "out"}
    fitting = [{p.name: p.default for p in s} for s in schemas if names <= {p.name for p in s}]
    if not fitting:
        return signature
    return tuple(
        replace(p, default=_default(p, [s.get(p.name, p.default) for s in fitting], one_of_many))
        for p in signature
    )


def _default(p: Parameter, declared: list[str], one_of_many: bool) -> str:
    if p.default == REQUIRED or (one_of_many and all(d == REQUIRED for d in declared)):
        return REQUIRED
    return next((d for d in declared if d != REQUIRED), "None") if p.default == "None" else p.default


def _says_nothing(signature: Signature) -> bool:
    return bool(signature) and all(p.kind in (STAR, STARS) for p in signature)


def from_python(found: Any) -> Signature | None:
    """What `inspect` knows."""
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return None
    kinds = {inspect.Parameter.KEYWORD_ONLY: KEYWORD, inspect.Parameter.VAR_POSITIONAL: STAR}
    kinds[inspect.Parameter.VAR_KEYWORD] = STARS
    return tuple(
        Parameter(
            p.name,
            REQUIRED if p.default is inspect.Parameter.empty else shown(p.default),
            kinds.get(p.kind, POSITIONAL),
        )
        for p in parameters
    )


def shown(value: Any) -> str:
    """A default as text that does not change from run to run."""
    if isinstance(value, (list, tuple)):
        inner = ", ".join(map(shown, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner}{',' * (len(value) == 1)})"
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    written = repr(value)
    return type(value).__name__ + "()" if " at 0x" in written else written


DIRECTIVE = re.compile(r"^\s*\.\. (?:function|method):: *(.*)$")


def from_document(found: Any, method: bool) -> list[Signature]:
    """The signatures that a docstring gives: its first lines, and each function directive."""
    name = getattr(found, "__name__", "")
    lines = (getattr(found, "__doc__", None) or "").strip().splitlines()
    written = [lines[0]] if lines else []
    written += [m.group(1) for line in lines if (m := DIRECTIVE.match(line))]
    made = []
    for line in written:
        m = re.match(r"(?:[\w.]*\.)?(\w+)\s*(\(.*\))\s*(?:->.*)?$", line.strip())
        if m and (m.group(1) == name or len(lines[0]) < 200):
            signature = parsed(m.group(2))
            if signature is not None:
                made.append(signature[1:] if method and signature[:1] == (Parameter("self"),) else signature)
    return list(dict.fromkeys(made))


def parsed(written: str) -> Signature | None:
    """The signature of `(input, dim=None, *, out=None)`; None where it is not one."""
    source = re.sub(r"\b(\w+)\.\.\.", r"*\1", written.replace("\\*", "*"))
    if "[," in source:  # optional parameters in brackets
        source = source.replace("[", "").replace("]", "")
    if re.search(r"\*\w+, \*,", source):  # keyword-only ones follow a starred one without saying so
        source = source.replace(", *,", ",")
    for _ in range(written.count("=") + 1):
        try:
            return _of_tree(ast.parse(f"def f{source}: pass").body[0].args)  # type: ignore[attr-defined]
        except SyntaxError:  # `(start=0, end)`: what stands before a required one is required
            source = re.sub(r"=[^,()]*(, \w+ *[,)])", r"\1", source, count=1)
    return None


def _of_tree(arguments: ast.arguments) -> Signature:
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + list(arguments.defaults)
    made = [_parameter(a, d, POSITIONAL) for a, d in zip(positional, defaults)]
    if arguments.vararg:
        made.append(Parameter(arguments.vararg.arg, kind=STAR))
    made += [_parameter(a, d, KEYWORD) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        made.append(Parameter(arguments.kwarg.arg, kind=STARS))
    return tuple(made)


def _parameter(argument: ast.arg, default: ast.expr | None, kind: str) -> Parameter:
    return Parameter(argument.arg, REQUIRED if default is None else ast.unparse(default), kind)


def from_schemas(found: Any, method: bool) -> list[Signature]:
    """PyTorch's own table, for functions made in C++."""
    import torch

    name, made = getattr(found, "__name__", ""), []
    for schema in torch._C._jit_get_schemas_for_operator(f"aten::{name}"):
        types = [str(a.type) for a in schema.arguments]
        if not types or types[0] not in ("Tensor", "List[Tensor]") or any(a.is_out for a in schema.arguments):
            continue
        made.append(tuple(_of_schema(a) for a in schema.arguments)[method:])
    return list(dict.fromkeys(made))


def _of_schema(argument: Any) -> Parameter:
    default = shown(argument.default_value) if argument.has_default_value() else REQUIRED
    name = "input" if argument.name == "self" else argument.name
    return Parameter(name, default, KEYWORD if argument.kwarg_only else POSITIONAL)
