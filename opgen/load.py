"""Reads ops/*.toml into rows and checks what can be checked without looking at formulas."""
from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .schema import RegistryError, Schema, cpp_word, parse

FIELDS = {"schema", "kind", "dtype", "shape", "layout", "body", "forms", "namespace", "alias", "gradient", "node", "save",
          "results", "doc", "ms", "opmath", "inplace", "loops", "exact_other", "sparse", "out", "refuses", "autocast",
          "batch"}
KINDS = {"elementwise", "kernel", "view", "compose"}
ONLY_FOR = {"dtype": {"elementwise", "view"}, "loops": {"elementwise"}, "exact_other": {"elementwise"},
            "refuses": {"elementwise"}, "out": {"elementwise", "kernel", "compose"},
            "shape": {"kernel"}, "inplace": {"kernel"}, "save": {"kernel"}, "layout": {"view"},
            "body": {"compose"}, "opmath": {"compose"}, "sparse": {"elementwise", "kernel", "view"}}
LISTS = ("forms", "namespace", "alias", "results", "save", "ms", "out", "refuses")
WORDS = {"kind": KINDS, "out": {"exact", "cast", "apart"},
         "forms": {"method", "inplace", "out", "no_function", "inplace_function", "numbers"},
         "refuses": {"bool", "complex", "negative"}, "inplace": {"direct"},
         "sparse": {"values", "linear", "function", "inplace", "function, inplace"},
         "batch": {"elementwise", "dims", "shared_index", "leading", "fold", "parts", "parts, random", "own", "widen", "loop"}}
DTYPE_RULES = {"promote": "Promote", "promote_float": "PromoteFloat", "compare": "Compare", "to_real": "ToReal",
               "float": "Float"}
AUTOCAST_DEVICES, AUTOCAST_WORDS = ("cpu", "accelerator"), {"lower", "float32", "promote", "keep", "refuse"}
GRADIENT_WORDS = {"none", "missing", "zero"}


@dataclass
class Row:
    """One operator. `schema` has the parameters; the rest are the row's fields, and what follows from both."""

    file: str
    schema: Schema
    fields: dict[str, Any]

    def __post_init__(self) -> None:
        self.name = name = self.schema.name
        overload = self.schema.overload
        self.label = f"{name}.{overload}" if overload else name
        self.inplace_only = name.endswith("_") and not name.startswith("__")
        cpp = f"{name}_{overload.lower()}" if overload else name
        self.cpp = cpp_word(cpp) if not self.inplace_only else f"{name[:-1]}{cpp.removeprefix(name)}_"
        self.cpp_inplace = self.cpp if self.inplace_only else self.cpp.rstrip("_") + "_"
        self.base = name[:-1] if self.inplace_only else name
        self.inplace_form = self.inplace_only or self.has("inplace") or self.has("inplace_function")
        forms = {"function": not self.inplace_only, "inplace": self.inplace_form, "out": self.has("out")}
        self.emitted = [form for form, given in forms.items() if given]
        self.params = [p for p in self.schema.params if not p.face_only]  # those that C++ code sees
        self.tensors = [p for p in self.params if p.is_tensor]
        like = re.fullmatch(r"like\((\w+)\)", self.shape or "")
        self.like = like and like.group(1)  # the parameter whose sizes and strides the result has
        self.gradients: dict[str, str] = self.gradient if isinstance(self.gradient, dict) else {}
        autocast = self.autocast or {}  # device -> what autocast does with the inputs there
        self.autocasts = autocast if isinstance(autocast, dict) else dict.fromkeys(AUTOCAST_DEVICES, autocast)
        node = "".join(word[:1].upper() + word[1:] for word in name.strip("_").split("_"))
        self.node_name = self.node or f"{node}Backward0"

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return self.fields.get(name)
        raise AttributeError(name)

    @property
    def batch_rule(self) -> str | None:
        """How it is called on the batched tensors of vmap: its `batch` field, or what its kind implies."""
        given = self.fields.get("batch", "elementwise" if self.kind == "elementwise" else None)
        return given and given.partition(",")[0]

    @property
    def random(self) -> bool:
        return "random" in self.fields.get("batch", "") or any(p.type == "Generator?" for p in self.schema.params)

    def has(self, word: str, name: str = "forms") -> bool:
        return word in self.fields.get(name, [])

    @property
    def save(self) -> list[str]:
        """The names of extra results for backward."""
        return [item.removeprefix("Tensor ") for item in self.fields.get("save", [])]

    def fault(self, cause: str) -> RegistryError:
        return RegistryError(f"{self.file}: row '{self.label}': {cause}")


def load(folder: Path) -> list[Row]:
    """All rows in file and row order; raises RegistryError with every fault found."""
    rows: list[Row] = []
    faults: list[str] = []
    for path in sorted(folder.glob("*.toml")):
        place = f"{folder.name}/{path.name}"
        try:
            table = tomllib.loads(path.read_text())
        except tomllib.TOMLDecodeError as err:
            faults.append(f"{place}: {err}")
            continue
        for number, fields in enumerate(table.get("op", []), 1):
            try:
                rows.append(read_row(place, number, fields))
            except RegistryError as err:
                faults.append(str(err))
    faults += duplicates(rows)
    if faults:
        raise RegistryError("\n".join(faults))
    return rows


def read_row(place: str, number: int, fields: dict[str, Any]) -> Row:
    text = fields.get("schema")
    if not isinstance(text, str):
        raise RegistryError(f"{place}: row {number}: no schema")
    try:
        row = Row(place, parse(text), fields)
    except RegistryError as err:
        raise RegistryError(f"{place}: row {number} '{text}': {err}") from None
    check_fields(row)
    check_meaning(row)
    return row


def check_fields(row: Row) -> None:
    if unknown := set(row.fields) - FIELDS:
        raise row.fault(f"unknown field {sorted(unknown)}")
    for name in LISTS:
        given = row.fields.get(name, [])
        if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
            raise row.fault(f"{name} is a list of strings, such as {name} = [\"...\"]")
    for name, words in WORDS.items():
        given = row.fields.get(name, [])
        if unknown := set([given] if isinstance(given, str) else given) - words:
            raise row.fault(f"{name} '{min(unknown)}' is none of {sorted(words)}")
    for name in row.fields:
        if row.kind not in (kinds := ONLY_FOR.get(name, KINDS)):
            raise row.fault(f"'{name}' means nothing in a row of kind '{row.kind}', only in {sorted(kinds)}")


def check_meaning(row: Row) -> None:
    kind, gradient, first = row.kind, row.gradient, next((p.type for p in row.schema.params), "")
    named = {p.name for p in row.params if p.is_tensor or p.type == "Tensor[]"}
    for broken, cause in (
        (kind == "elementwise" and row.dtype not in DTYPE_RULES, f"dtype '{row.dtype}' is none of {sorted(DTYPE_RULES)}"),
        (kind == "elementwise" and row.schema.results != ["Tensor"], "an elementwise row has one Tensor as its result"),
        (kind == "kernel" and not row.shape and not row.inplace_only, "a kernel row needs a shape rule"),
        (row.like and row.like not in {p.name for p in row.tensors},
         f"shape 'like({row.like})' names no Tensor parameter of the schema"),
        (kind == "view" and not row.layout, "a view row needs a layout function"),
        (kind == "view" and row.dtype not in (None, "real", "complex"),
         f"a view's dtype is 'real' or 'complex', not '{row.dtype}'"),
        (kind == "view" and row.has("out"), "a view has no out form: it writes nothing"),
        (row.has("method") and first not in ("Tensor", "Tensor[]"), "a method needs a Tensor as its first parameter"),
        (set(row.autocasts) - set(AUTOCAST_DEVICES) or set(row.autocasts.values()) - AUTOCAST_WORDS,
         f"autocast is one of {sorted(AUTOCAST_WORDS)}, or a table of {sorted(AUTOCAST_DEVICES)} to them"),
        (row.results and len(row.results) != len(row.schema.results),
         f"{len(row.results or ())} result names for {len(row.schema.results)} results"),
        *((not name.isidentifier(), f"result name '{name}' is no identifier") for name in row.results or ()),
        *((not re.fullmatch(r"Tensor \w+", item), f"save: '{item}' is not 'Tensor name'")
          for item in row.fields.get("save", ())),
        (gradient is None and kind != "compose",
         "gradient missing: give formulas, or declare it \"none\", \"zero\" or \"missing\""),
        (isinstance(gradient, str) and gradient not in GRADIENT_WORDS,
         f"gradient '{gradient}' is neither a table nor one of {sorted(GRADIENT_WORDS)}"),
        *((name not in named, f"gradient.{key}: '{name}' is not a Tensor parameter of the schema")
          for key in row.gradients for name in key.replace(" ", "").split(",")),
    ):
        if broken:
            raise row.fault(cause)


def duplicates(rows: list[Row]) -> list[str]:
    first: dict[str, Row] = {}
    doubles = [(row, first[row.cpp]) for row in rows if first.setdefault(row.cpp, row) is not row]
    return [str(row.fault(f"duplicate name: {other.file} has ops::{row.cpp} too")) for row, other in doubles]
