"""What the scan knows of a value: a name of the API, an object of its, something of the project."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Api:
    """The thing that a name of the API stands for: a module, function, class or constant."""

    name: str


@dataclass(frozen=True, slots=True)
class Inst:
    """An object of a class of the API; of a container or loader, what it holds or yields."""

    cls: str
    element: Types | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """What a DataLoader yields of unknown examples: tensors, or tuples, lists and dicts of them."""


@dataclass(frozen=True, slots=True)
class Plain:
    """A value that is certainly none of the API's: a number, a string, an array of NumPy ..."""

    what: str


@dataclass(frozen=True, slots=True)
class Text:
    """A constant string, where it may name an attribute or a key."""

    text: str


@dataclass(frozen=True, slots=True)
class Foreign:
    """A name of a module outside the project of which nothing is known."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value of which nothing is known, and why."""

    why: str


@dataclass(frozen=True, slots=True)
class Sequence:
    """A tuple or list: its items where their number is known, else what all of them may be."""

    items: tuple[Types, ...] | None
    element: Types


@dataclass(frozen=True, slots=True)
class Mapping:
    """A dict: what its values may be, by constant key where known, and over all."""

    fields: tuple[tuple[str, Types], ...]
    element: Types


@dataclass(frozen=True, slots=True)
class Bound:
    """A function of the project with its first argument given."""

    function: Function
    owner: Value


@dataclass(frozen=True, slots=True)
class ApiMethod:
    """A method of the API: its canonical name and the object that it was taken from."""

    name: str
    owner: Value


@dataclass(eq=False, slots=True)
class Module:
    """A module of the project."""

    name: str
    path: str
    is_package: bool = False


@dataclass(eq=False, slots=True)
class Function:
    """A function or lambda of the project, in its scope, with the class that it is a method of."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Any
    owner: Class | None = None
    kind: str = "function"  # or method, classmethod, staticmethod, property


@dataclass(eq=False, slots=True)
class Class:
    """A class of the project with the values of its bases."""

    name: str
    scope: Any
    bases: list[Value] = field(default_factory=list)

    def lineage(self) -> Iterator[Class | Api | Foreign]:
        """This class, then its bases, depth first: near enough to Python's order."""
        seen: set[int] = set()
        waiting: list[Any] = [self]
        while waiting:
            at = waiting.pop(0)
            if id(at) in seen or not isinstance(at, (Class, Api, Foreign)):
                continue
            seen.add(id(at))
            yield at
            if isinstance(at, Class):
                waiting[:0] = at.bases

    def api_base(self) -> str | None:
        """The nearest class of the API that this one inherits from."""
        return next((b.name for b in self.lineage() if isinstance(b, Api)), None)


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a class of the project."""

    cls: Class


@dataclass(frozen=True, slots=True)
class Parent:
    """What `super()` gives in a method of `cls`."""

    cls: Class


Value = (
    Api | Inst | Batch | Plain | Text | Foreign | Unknown | Sequence | Mapping | Bound | ApiMethod
    | Module | Function | Class | Object | Parent
)  # fmt: skip
Types = frozenset[Any]  # of Value; the empty one stands for "not known yet"

NOTHING: Types = frozenset()
TENSOR: Types = frozenset({Inst("torch.Tensor")})
BATCH: Types = frozenset({Batch()})
MOST = 8  # values of one set: beyond that, nothing is known
DEEPEST = 3  # containers within containers that are told apart


@functools.cache
def unknown(why: str) -> Types:
    return frozenset({Unknown(why)})


@functools.cache
def plain(what: str) -> Types:
    return frozenset({Plain(what)})


def join(*sets: Types) -> Types:
    """All values of the sets; containers are merged, so that a loop comes to an end."""
    merged = NOTHING
    for s in sets:
        if s is not merged and not s <= merged:
            merged = merged | s if merged else s
    if len(merged) < 2 or merged in sets:
        return merged
    kinds = [type(v) for v in merged]
    if kinds.count(Sequence) > 1:
        merged = _merge(merged, Sequence, _merged_sequence)
    if kinds.count(Mapping) > 1:
        merged = _merge(merged, Mapping, _merged_mapping)
    if kinds.count(Inst) > 1 and sum(type(v) is Inst and v.element is not None for v in merged) > 1:
        merged = _merged_holders(merged)
    if kinds.count(Text) > 3:
        merged = frozenset(v for v in merged if type(v) is not Text) | plain("str")
    return merged if len(merged) <= MOST else unknown("it may be too many things")


def _merge(values: Types, kind: type, merged: Any) -> Types:
    found = [v for v in values if type(v) is kind]
    return (values - frozenset(found)) | {merged(found)}


def _merged_sequence(found: list[Sequence]) -> Sequence:
    lengths = {len(s.items) if s.items is not None else -1 for s in found}
    element = join(*(s.element for s in found))
    if len(lengths) > 1 or -1 in lengths:
        return sequence(None, element)
    return sequence(
        [join(*column) for column in zip(*(s.items for s in found if s.items is not None))], element
    )


def _merged_mapping(found: list[Mapping]) -> Mapping:
    fields: dict[str, Types] = {}
    for one in found:
        for key, value in one.fields:
            fields[key] = join(fields.get(key, NOTHING), value)
    return mapping(fields, join(*(m.element for m in found)))


def _merged_holders(values: Types) -> Types:
    """Containers of one class become one that holds what all of them do."""
    held: dict[str, Types] = {}
    for v in values:
        if type(v) is Inst and v.element is not None:
            held[v.cls] = join(held.get(v.cls, NOTHING), v.element)
    rest = frozenset(v for v in values if not (type(v) is Inst and v.cls in held))
    return rest | {holder(cls, element) for cls, element in held.items()}


def holder(cls: str, element: Types | None) -> Inst:
    """An object of the API that holds or yields `element`."""
    return Inst(cls, element if element is not None and depth(element) < DEEPEST else None)


def depth(values: Iterable[Any]) -> int:
    return max((1 + depth(v.element) for v in values if getattr(v, "element", None) is not None), default=0)


def sequence(items: list[Types] | None, element: Types | None = None) -> Sequence:
    """A tuple or list of known items, or of any number of `element`."""
    element = join(*items) if element is None and items else element or NOTHING
    if depth(element) >= DEEPEST:
        return Sequence(None, unknown("it is nested too deeply"))
    return Sequence(tuple(items) if items is not None and len(items) <= 12 else None, element)


def mapping(fields: dict[str, Types], element: Types | None = None) -> Mapping:
    """A dict with the values of its constant keys."""
    element = join(*fields.values()) if element is None else element
    if depth(element) >= DEEPEST:
        return Mapping((), unknown("it is nested too deeply"))
    return Mapping(tuple(sorted(fields.items(), key=lambda f: f[0])) if len(fields) <= 24 else (), element)
