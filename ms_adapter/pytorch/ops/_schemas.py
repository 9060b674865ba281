"""Schemas as text and as objects: what an operator takes and returns."""

import ast
import dataclasses
import inspect
import re

__all__ = ["Argument", "FunctionSchema", "Return", "overloads_of", "parse_schema"]

_NOTHING = inspect.Parameter.empty


@dataclasses.dataclass(frozen=True)
class AliasInfo:
    """That an argument is written to (``is_write``), or that a result is a view of it."""

    before_set: frozenset
    is_write: bool


def _marked(kind, alias):
    """ "Tensor(a!)" for "Tensor" and what is known of its memory."""
    if alias is None:
        return kind
    return kind.replace("Tensor", f"Tensor({''.join(sorted(alias.before_set))}{'!' * alias.is_write})", 1)


@dataclasses.dataclass(frozen=True)
class Argument:
    """One parameter: ``type`` is as in the schema, "Tensor?" or "SymInt[2]"."""

    name: str
    type: str
    default: object = _NOTHING
    kwarg_only: bool = False
    alias_info: AliasInfo | None = None

    @property
    def default_value(self):
        """The default, None where there is none."""
        return None if self.default is _NOTHING else self.default

    def has_default_value(self):
        """Whether the argument may be left out."""
        return self.default is not _NOTHING

    def __str__(self):
        return f"{_marked(self.type, self.alias_info)} {self.name}" + (
            f"={default_text(self.default)}" if self.has_default_value() else ""
        )


@dataclasses.dataclass(frozen=True)
class Return:
    """One result."""

    type: str
    alias_info: AliasInfo | None = None
    name: str = ""

    def __str__(self):
        return f"{_marked(self.type, self.alias_info)} {self.name}".strip()


@dataclasses.dataclass(frozen=True)
class FunctionSchema:
    """``name.overload_name(arguments) -> returns``."""

    name: str
    overload_name: str
    arguments: tuple
    returns: tuple

    @property
    def is_mutable(self):
        """Whether an argument is written to."""
        return any(a.alias_info is not None and a.alias_info.is_write for a in self.arguments)

    def __str__(self):
        full = self.name + (f".{self.overload_name}" if self.overload_name else "")
        return f"{full}{self.text()}"

    def text(self):
        """The schema without the name."""
        plain = [str(a) for a in self.arguments if not a.kwarg_only]
        named = [str(a) for a in self.arguments if a.kwarg_only]
        returned = ", ".join(map(str, self.returns))
        returned = returned if len(self.returns) == 1 else f"({returned})"
        return f"({', '.join([*plain, *(['*', *named] if named else [])])}) -> {returned}"

    def signature(self):
        """The same as an inspect.Signature."""
        parameters = [
            inspect.Parameter(
                a.name,
                inspect.Parameter.KEYWORD_ONLY if a.kwarg_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=a.default,
            )
            for a in self.arguments
        ]
        try:
            return inspect.Signature(parameters)
        except ValueError:  # a parameter without a default after one with
            return inspect.Signature([p.replace(default=_NOTHING) for p in parameters])


def default_text(value):
    """A default as schemas write it, 2.0 as "2."."""
    if isinstance(value, float):
        return f"{value:g}." if value == int(value) and abs(value) < 1e6 else repr(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(default_text, value))}]"
    return str(value)


def _split(text):
    """Parts between commas that are in no brackets or quotes."""
    parts, depth, quote, start = [], 0, "", 0
    for i, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif sign == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in (*parts, text[start:]) if part.strip()]


def _alias(kind):
    """("Tensor", its AliasInfo) of "Tensor(a!)"."""
    found = re.match(r"^(\w+)\(([^)]*)\)(.*)$", kind)
    if not found:
        return kind, None
    names = frozenset(re.findall(r"\w+", found[2].split("->")[0]))
    return found[1] + found[3], AliasInfo(names, "!" in found[2])


def _default(text):
    if text in ("None", "True", "False"):
        return {"None": None, "True": True, "False": False}[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text  # a named constant: Mean, contiguous_format


def _argument(text, keyword_only):
    text, _, default = text.partition("=")
    kind, _, name = text.strip().rpartition(" ")
    if not kind:
        raise RuntimeError(f"a schema's argument is written 'Type name', got {text!r}.")
    kind, alias = _alias(kind.strip())
    return Argument(name, kind, _default(default.strip()) if default else _NOTHING, keyword_only, alias)


def parse_schema(text):
    """The FunctionSchema of "ns::name.overload(Tensor x, *, int n=1) -> Tensor".

    RuntimeError where the text is none.

    >>> schema = parse_schema("mine::scale(Tensor x, float by=2.0) -> Tensor")
    >>> schema.name, [a.name for a in schema.arguments], schema.arguments[1].default_value
    ('mine::scale', ['x', 'by'], 2.0)
    """
    found = re.match(r"^\s*([\w:]+)(?:\.(\w+))?\s*\((.*)\)\s*->\s*(.+?)\s*$", text, re.DOTALL)
    if not found:
        raise RuntimeError(f"'{text}' is no schema: it is written 'name(Tensor x, int n=1) -> Tensor'.")
    name, overload, arguments, returned = found.groups()
    parsed, keyword_only = [], False
    for part in _split(arguments):
        if part == "*":
            keyword_only = True
        else:
            parsed.append(_argument(part, keyword_only))
    whole = returned.startswith("(") and returned.endswith(")")
    returns = []
    for part in _split(returned[1:-1] if whole else returned):
        kind, _, result = part.partition(" ")
        returns.append(Return(*_alias(kind), result))
    return FunctionSchema(name, overload or "", tuple(parsed), tuple(returns))


def overloads_of(function):
    """The schemas of what a function of torch, or an overload, may call; empty for other functions."""
    from ms_adapter import _C

    if hasattr(function, "_schema"):
        return [function._schema]
    if not _is_ours(function):
        return []
    name = function.__name__
    return [parse_schema(schema) for _, row, _, schema, _, _ in _C.rows() if row == name]


def _is_ours(function):
    from ms_adapter import _C

    return any(function is ours for ours in _C.functions.values())
