"""Reads ops/*.toml into rows and checks what can be checked without looking at formulas."""
from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .schema import Param, RegistryError, Schema, cpp_word, parse

FIELDS = {"schema", "kind", "dtype", "shape", "layout", "body", "forms", "namespace", "alias", "gradient", "node", "save",
          "results", "doc", "ms", "opmath", "inplace", "loops", "exact_other", "sparse", "out", "refuses"}
KINDS = {"elementwise", "kernel", "view", "compose"}
ONLY_FOR = {"dtype": {"elementwise", "view"}, "loops": {"elementwise"}, "exact_other": {"elementwise"},
            "refuses": {"elementwise"}, "out": {"elementwise", "kernel", "compose"},
            "shape": {"kernel"}, "inplace": {"kernel"}, "save": {"kernel"}, "layout": {"view"},
            "body": {"compose"}, "opmath": {"compose"}, "sparse": {"elementwise", "kernel", "view"}}
LISTS = ("forms", "namespace", "alias", "results", "save", "ms", "out", "refuses")
WORDS = {"forms": {"method", "inplace", "out", "no_function", "inplace_function", "numbers"}, "out": {"exact", "cast", "apart"},
         "refuses": {"bool", "complex"}, "inplace": {"direct"},
         "sparse": {"values", "linear", "function", "inplace", "function, inplace"}}
DTYPE_RULES = {"promote": "Promote", "promote_float": "PromoteFloat", "compare": "Compare", "to_real": "ToReal",
               "float": "Float"}
GRADIENT_WORDS = {"none", "missing", "zero"}


@dataclass
class Row:
    """One operator. `schema` has the parameters; the rest are the row's fields."""

    file: str
    schema: Schema
    fields: dict[str, Any]
    save: list[str] = field(default_factory=list)  # names of extra results for backward

    def __getattr__(self, name: str) -> Any:
        if name in FIELDS:
            return self.fields.get(name)
        raise AttributeError(name)

    @property
    def name(self) -> str:
        return self.schema.name

    @property
    def label(self) -> str:
        return self.name + (f".{self.schema.overload}" if self.schema.overload else "")

    @property
    def inplace_only(self) -> bool:
        return self.name.endswith("_") and not self.name.startswith("__")

    @property
    def cpp(self) -> str:
        overload = f"_{self.schema.overload.lower()}" if self.schema.overload else ""
        return f"{self.name[:-1]}{overload}_" if self.inplace_only else cpp_word(self.name + overload)

    @property
    def cpp_inplace(self) -> str:
        return self.cpp if self.inplace_only else self.cpp.rstrip("_") + "_"

    @property
    def params(self) -> list[Param]:
        """Those that C++ code sees."""
        return [p for p in self.schema.params if not p.face_only]

    @property
    def tensors(self) -> list[Param]:
        return [p for p in self.params if p.is_tensor]

    @property
    def like(self) -> str | None:
        """The parameter whose sizes and strides the result has, where the shape rule is `like(parameter)`."""
        match = re.fullmatch(r"like\((\w+)\)", self.fields.get("shape") or "")
        return match.group(1) if match else None

    def has(self, word: str, name: str = "forms") -> bool:
        return word in self.fields.get(name, [])

    @property
    def inplace_form(self) -> bool:
        return self.inplace_only or self.has("inplace") or self.has("inplace_function")

    @property
    def gradients(self) -> dict[str, str]:
        got = self.fields.get("gradient")
        return got if isinstance(got, dict) else {}

    @property
    def node_name(self) -> str:
        parts = self.name.strip("_").split("_")
        return self.fields.get("node") or "".join(p[:1].upper() + p[1:] for p in parts) + "Backward0"

    @property
    def result_names(self) -> list[str]:
        """What formulas call the results: result0.. and the names from `results` and `save`."""
        return list(self.fields.get("results") or [f"result{i}" for i in range(len(self.schema.results))])

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
        for name in LISTS:
            given = fields.get(name, [])
            if not isinstance(given, list) or not all(isinstance(item, str) for item in given):
                raise RegistryError(f"{name} is a list of strings, such as {name} = [\"...\"]")
        row = Row(place, parse(text), fields)
        if wrong := [item for item in fields.get("save", []) if not re.fullmatch(r"Tensor \w+", item)]:
            raise RegistryError(f"save: '{wrong[0]}' is not 'Tensor name'")
        row.save = [item.removeprefix("Tensor ") for item in fields.get("save", [])]
    except RegistryError as err:
        raise RegistryError(f"{place}: row {number} '{text}': {err}") from None
    check(row)
    return row


def check(row: Row) -> None:
    check_fields(row)
    check_kind(row)
    check_gradient(row)
    if row.has("method") and not (row.schema.params and row.schema.params[0].type in ("Tensor", "Tensor[]")):
        raise row.fault("a method needs a Tensor as its first parameter")
    for name in row.fields.get("results", []):
        if not name.isidentifier():
            raise row.fault(f"result name '{name}' is no identifier")
    if row.results and len(row.results) != len(row.schema.results):
        raise row.fault(f"{len(row.results)} result names for {len(row.schema.results)} results")


def check_fields(row: Row) -> None:
    if unknown := set(row.fields) - FIELDS:
        raise row.fault(f"unknown field {sorted(unknown)}")
    if row.kind not in KINDS:
        raise row.fault(f"kind '{row.kind}' is none of {sorted(KINDS)}")
    for name in row.fields:
        if row.kind not in ONLY_FOR.get(name, KINDS):
            kinds = sorted(ONLY_FOR[name])
            raise row.fault(f"'{name}' means nothing in a row of kind '{row.kind}', only in {kinds}")
    for name, words in WORDS.items():
        given = row.fields.get(name, [])
        if unknown := set([given] if isinstance(given, str) else given) - words:
            raise row.fault(f"{name} '{min(unknown)}' is none of {sorted(words)}")


def check_kind(row: Row) -> None:
    if row.kind == "elementwise":
        if row.dtype not in DTYPE_RULES:
            raise row.fault(f"dtype '{row.dtype}' is none of {sorted(DTYPE_RULES)}")
        if row.schema.results != ["Tensor"]:
            raise row.fault("an elementwise row has one Tensor as its result")
    elif row.kind == "kernel":
        if not row.shape and not row.inplace_only:
            raise row.fault("a kernel row needs a shape rule")
        if row.like and row.like not in {p.name for p in row.tensors}:
            raise row.fault(f"shape 'like({row.like})' names no Tensor parameter of the schema")
    elif row.kind == "view":
        if not row.layout:
            raise row.fault("a view row needs a layout function")
        if row.dtype not in (None, "real", "complex"):
            raise row.fault(f"a view's dtype is 'real' or 'complex', not '{row.dtype}'")
        if row.has("out"):
            raise row.fault("a view has no out form: it writes nothing")


def check_gradient(row: Row) -> None:
    gradient = row.fields.get("gradient")
    if gradient is None and row.kind != "compose":
        raise row.fault("gradient missing: give formulas, or declare it \"none\", \"zero\" or \"missing\"")
    if isinstance(gradient, str) and gradient not in GRADIENT_WORDS:
        raise row.fault(f"gradient '{gradient}' is neither a table nor one of {sorted(GRADIENT_WORDS)}")
    named = {p.name for p in row.params if p.is_tensor or p.type == "Tensor[]"}
    for key in row.gradients:
        if wrong := [k for k in key.replace(" ", "").split(",") if k not in named]:
            raise row.fault(f"gradient.{key}: '{wrong[0]}' is not a Tensor parameter of the schema")


def duplicates(rows: list[Row]) -> list[str]:
    seen: dict[str, Row] = {}
    faults = []
    for row in rows:
        if row.cpp in seen:
            faults.append(str(row.fault(f"duplicate name: {seen[row.cpp].file} has ops::{row.cpp} too")))
        seen.setdefault(row.cpp, row)
    return faults
