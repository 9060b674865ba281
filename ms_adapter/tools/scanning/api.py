"""What is known of PyTorch's API without PyTorch: names, classes, members, what calls return.

The names come from ms_adapter's own modules and registry; what neither tells is in `returns.toml`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import re
import tomllib
import types
from collections import defaultdict
from pathlib import Path
from typing import Any

from .values import BATCH, NOTHING, TENSOR, Api, Inst, Types, join, mapping, plain, sequence, unknown

FACE = "ms_adapter.pytorch"
ROOTS = ("torch", "torchvision")
OURS = {FACE: "torch", "ms_adapter.torchvision": "torchvision"}  # as converted programs name them
# Modules whose classes and functions PyTorch shows under a shorter name.
SHORT = (
    "torch.nn",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.utils.data",
    "torch.distributions",
    "torch",
)
TABLE = tomllib.loads(Path(__file__).with_name("returns.toml").read_text())

# Of the tuples with names that operators give.
RESULT_FIELDS = frozenset(
    [
        "values",
        "indices",
        "eigenvalues",
        "eigenvectors",
        "Q",
        "R",
        "U",
        "S",
        "V",
        "Vh",
        "L",
        "P",
        "LU",
        "pivots",
        "info",
        "sign",
        "logabsdet",
        "solution",
        "residuals",
        "singular_values",
        "hist",
        "bin_edges",
        "mantissa",
        "exponent",
        "a",
        "tau",
        "result",
        "output",
        "inverse",
        "LD",
    ]
)


@functools.cache
def face(name: str) -> Any:
    """ms_adapter's object of a name such as `torch.nn.Linear`; None where it has none."""
    at: Any = importlib.import_module(FACE)
    path = FACE
    for part in name.split(".")[1:]:
        path += "." + part
        try:
            at = getattr(at, part)
        except Exception:  # what is missing raises errors of several kinds, with its reason
            if not isinstance(at, types.ModuleType):
                return None
            try:
                at = importlib.import_module(path)
            except Exception:
                return None
    return at


@functools.cache
def canonical(name: str) -> str:
    """The public name of what `name` names: `torch.nn.modules.linear.Linear` is `torch.nn.Linear`."""
    found: Any = face(name) if name.startswith("torch.") else None
    if found is None or isinstance(found, types.ModuleType):
        return name
    if inspect.isclass(found):
        return class_name(found) or name  # type: ignore[arg-type]
    module, _, last = name.rpartition(".")
    for short in SHORT:
        if module.startswith(short + ".") and face(f"{short}.{last}") is found:
            return f"{short}.{last}"
    return name


def home_of(found: Any) -> str | None:
    module = getattr(found, "__module__", None) or ""
    if module == FACE or module.startswith(FACE + "."):
        return "torch" + module[len(FACE) :]
    return module if module == "torch" or module.startswith("torch.") else None


@functools.cache
def class_name(cls: Any) -> str | None:
    """The shortest public name of a class of the face."""
    home = home_of(cls)
    if home is None:
        return None
    parts = home.split(".")
    for n in range(1, len(parts) + 1):
        short = ".".join([*parts[:n], cls.__qualname__])
        if face(short) is cls:
            return short
    return f"{home}.{cls.__qualname__}"


def theirs(name: str) -> str:
    """PyTorch's name of a module that is ours: `ms_adapter.pytorch.nn` is `torch.nn`."""
    for ours, name_there in OURS.items():
        if name == ours or name.startswith(ours + "."):
            return name_there + name[len(ours) :]
    return name


def is_api(name: str) -> bool:
    return name.partition(".")[0] in ROOTS


@functools.cache
def is_class(name: str) -> bool:
    """Whether calling it makes an object of it; what ms_adapter lacks is judged by its spelling."""
    found = face(name) if name.startswith("torch.") else None
    if name in TABLE["call"]:
        return False
    if found is not None:
        return inspect.isclass(found)
    last = name.rpartition(".")[2]
    return last[:1].isupper() and (name.startswith("torchvision.") or not last.isupper())


@functools.cache
def is_module(name: str) -> bool:
    found = face(name) if name.startswith("torch.") or name == "torch" else None
    if found is not None:
        return isinstance(found, types.ModuleType)
    last = name.rpartition(".")[2]
    return last.islower() and name.count(".") < 2 and name.startswith("torchvision")


@functools.cache
def bases(cls: str) -> tuple[str, ...]:
    """The class and those that it inherits from."""
    found = face(cls)
    if inspect.isclass(found):
        return tuple(n for n in (class_name(c) for c in found.__mro__) if n)
    return (cls, *TABLE["base"].get(cls, ()), *outside_bases(cls))


def outside_bases(cls: str) -> tuple[str, ...]:
    """What torchvision's classes are, by where they live."""
    for start, base in TABLE["base_of"].items():
        if cls.startswith(start):
            return bases(base)
    return ()


def inherits(cls: str, base: str) -> bool:
    return base in bases(cls)


@functools.cache
def member(cls: str, name: str) -> str | None:
    """The canonical name of an attribute: `torch.nn.Module.parameters` of a Linear; None: no such."""
    found = face(cls)
    if inspect.isclass(found):
        if name == "__init__":
            return f"{cls}.__init__"
        for c in reversed(found.__mro__[:-1]):
            if any(name in vars(m) for m in c.__mro__[:-1]):
                owner = class_name(c)
                if owner and is_public(owner):
                    return f"{owner}.{name}"
    for base in bases(cls):
        if f"{base}.{name}" in TABLE["call"] or f"{base}.{name}" in TABLE["attribute"]:
            return f"{base}.{name}"
    for base in bases(cls)[1:]:
        if inspect.isclass(face(base)) and is_public(base) and (inherited := member(base, name)):
            return inherited
    layer = (
        name in TABLE["module_attribute"] and inherits(cls, "torch.nn.Module") and cls != "torch.nn.Module"
    )
    return f"{cls}.{name}" if layer else None


def is_public(cls: str) -> bool:
    """Whether PyTorch has the class under that name: not a base that only shares code."""
    return cls != "torch.TensorBase" and not any(part.startswith("_") for part in cls.split("."))


@functools.cache
def is_method(name: str) -> bool:
    """Whether an attribute of a class is called rather than read."""
    found = face(name)
    if found is None:
        return name in TABLE["call"]
    return callable(found) and not inspect.isclass(found)


@functools.cache
def schemas() -> dict[str, list[str]]:
    """Of each operator of the registry, what its overloads return, as their schemas say it."""
    from ms_adapter import _C  # type: ignore[attr-defined]

    found = defaultdict(list)
    for _, name, _, schema, *_ in _C.rows():
        found[name].append(schema.rpartition("->")[2].strip())
    return dict(found)


@functools.cache
def parsed(text: str) -> Types:
    """The types that a phrase of `returns.toml`, or the right side of a schema, stands for."""
    text = text.strip()
    if "|" in text and not text.startswith("("):
        return join(*map(parsed, text.split("|")))
    if text == "()":
        return plain("None")
    if text.startswith("(") and text.endswith(")"):
        return frozenset({sequence([parsed(t) for t in split(text[1:-1])])})
    if text.endswith("[]"):
        return frozenset({sequence(None, parsed(text[:-2]))})
    if text.startswith("dict "):
        return frozenset({mapping({}, parsed(text[5:]))})
    if text == "group":
        return frozenset({mapping({"params": parsed("torch.nn.Parameter[]")}, plain("number"))})
    if text.startswith(ROOTS):
        return frozenset({Inst(text)})
    if text.startswith("api "):
        return frozenset({Api(text[4:])})
    return {"Tensor": TENSOR, "batch": BATCH, "?": unknown("what it returns depends on the call")}.get(
        text, plain(text)
    )


def split(text: str) -> list[str]:
    """The parts between the commas that are in no parentheses."""
    return [p for p in re.split(r",(?![^(]*\))", text) if p.strip()]


@functools.cache
def returned(name: str) -> Types:
    """What a function or method of the API returns."""
    if name in TABLE["call"]:
        return parsed(TABLE["call"][name])
    space, _, last = name.rpartition(".")
    rows = schemas().get(last) or (schemas().get(last[:-1]) if last.endswith("_") else None)
    if rows:
        kinds = dict.fromkeys(rows)
        # Overloads are told apart by the arguments, which are not followed.
        return join(*(parsed(kind) for kind in kinds)) if len(kinds) < 4 else unknown("its overloads differ")
    for start, what in TABLE["space"].items():
        if name.startswith(start):
            return parsed(what)
    return annotated(name) or unknown(f"what {name} returns is not in the scan's table")


def annotated(name: str) -> Types:
    """What the face's own annotation says, where it names a class of the API or a plain type."""
    found = face(name)
    note = getattr(found, "__annotations__", {}).get("return") if found is not None else None
    if inspect.isclass(note):
        own = class_name(note)  # type: ignore[arg-type]
        return frozenset({Inst(own)}) if own else plain(note.__name__)
    return NOTHING


@functools.cache
def attribute(name: str) -> Types:
    """What reading an attribute that is no method gives."""
    if name in TABLE["attribute"]:
        return parsed(TABLE["attribute"][name])
    last = name.rpartition(".")[2]
    if name.startswith("torch.nn.") and last in TABLE["module_attribute"]:
        return parsed(TABLE["module_attribute"][last])
    return unknown(f"what {name} holds is not in the scan's table")


@functools.cache
def called(cls: str) -> Types:
    """What calling an object of a class gives: a layer its output, a transform an image."""
    return by_base(cls, "object_call") or unknown(f"what calling a {cls} returns is not in the scan's table")


@functools.cache
def iterated(cls: str) -> Types:
    """What iterating over an object of a class, or indexing it with a number, gives."""
    return by_base(cls, "element") or unknown(f"what is in a {cls} is not in the scan's table")


def by_base(cls: str, table: str) -> Types:
    """What a table says of the class, or of the nearest one that it inherits from."""
    phrase = next((TABLE[table][base] for base in bases(cls) if base in TABLE[table]), None)
    return parsed(phrase) if phrase is not None else NOTHING


@functools.cache
def telling() -> frozenset[str]:
    """Attribute names that hint at a tensor, module, optimizer or loader where the object is not known."""
    names: set[str] = set()
    for cls in (
        "torch.Tensor",
        "torch.nn.Module",
        "torch.optim.Optimizer",
        "torch.optim.lr_scheduler.LRScheduler",
    ):
        names |= {n for n in dir(face(cls)) if not n.startswith("_")}
    return frozenset(names - set(TABLE["common"]["names"].split()))
