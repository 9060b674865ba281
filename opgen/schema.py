"""Parses schemas, `name.overload(Type name=default, *, ...) -> results`, and knows how each type looks in C++."""
from __future__ import annotations

import re
from dataclasses import dataclass


class RegistryError(Exception):
    """A fault of the registry; its text names file, row and cause."""


@dataclass(frozen=True)
class Kind:
    """One schema type: its C++ parameter, how a node keeps it, its ArgType and its read from a boxed Value."""

    param: str
    owned: str
    arg_type: str
    read: str

    def optional(self) -> Kind:
        """The type of a parameter that may be None: OptInt for int."""
        opt = f"Opt{self.arg_type}"
        owned = opt if self.owned != "std::string" else "std::optional<std::string>"  # OptStr is but a view
        return Kind(f"const {opt}&" if "&" in self.param else opt, owned, self.arg_type, f"opt_{self.read}")


KINDS = {
    "Tensor": Kind("const Tensor&", "SavedTensor", "Tensor", "tensor()"),
    "Tensor?": Kind("const Tensor&", "SavedTensor", "Tensor", "tensor()"),
    "Tensor[]": Kind("const TensorList&", "std::vector<SavedTensor>", "Tensors", "tensors()"),
    "Scalar": Kind("const Scalar&", "Scalar", "Scalar", "scalar()"),
    "int": Kind("int64_t", "int64_t", "Int", "integer()"),
    "float": Kind("double", "double", "Float", "real()"),
    "bool": Kind("bool", "bool", "Bool", "boolean()"),
    "int[]": Kind("const Dims&", "Dims", "Dims", "dims()"),
    "float[]": Kind("const std::vector<double>&", "std::vector<double>", "Floats", "floats()"),
    "str": Kind("std::string_view", "std::string", "Str", "str()"),
    "dtype": Kind("DType", "DType", "DType", "dtype()"),
    "device": Kind("Device", "Device", "Device", "device()"),
    "memory_format": Kind("MemoryFormat", "MemoryFormat", "Format", "format()"),
    "Generator?": Kind("OptGenerator", "", "Generator", "generator()"),
    "layout?": Kind("", "", "Layout", ""),  # face only: the boxed call converts to it
}
KINDS |= {f"{name}?": KINDS[name].optional() for name in ("Scalar", "int", "float", "bool", "int[]", "float[]", "str", "dtype",
                                                          "device", "memory_format")}
RESULTS = {"Tensor": "Tensor", "Tensor[]": "TensorList", "bool": "bool", "int": "int64_t", "float": "double",
           "Scalar": "Scalar", "()": "void"}
FACTORY = "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
FACE_ONLY = {"layout", "pin_memory", "requires_grad"}  # handled by the boxed call, unseen by C++ code
DEFAULTS = {"None": "{}", "True": "true", "False": "false", "inf": "HUGE_VAL", "-inf": "-HUGE_VAL",
            "preserve": "MemoryFormat::Preserve", "contiguous": "MemoryFormat::Contiguous"}
CPP_WORDS = {"and", "or", "not", "xor", "default", "float", "int", "double", "bool", "long", "short", "register", "auto",
             "signed", "unsigned", "char", "new", "delete", "this", "union", "export", "static", "switch", "template"}


def cpp_word(name: str) -> str:
    return name + "_" if name in CPP_WORDS else name


def block(head: str, lines: list[str], end: str = "}") -> list[str]:
    """The lines of C++ in braces after `head`, indented."""
    return [f"{head} {{", *(f"  {line}" if line else "" for line in lines), end]


@dataclass
class Param:
    """One parameter of a schema."""

    name: str
    type: str            # a key of KINDS
    default: str | None  # as written
    keyword_only: bool
    repeat_int: int = 0
    takes_number: bool = False  # Tensor|Scalar

    @property
    def cpp(self) -> str:
        return cpp_word(self.name)

    @property
    def kind(self) -> Kind:
        return KINDS[self.type]

    @property
    def is_tensor(self) -> bool:
        return self.type in ("Tensor", "Tensor?")

    @property
    def face_only(self) -> bool:
        return self.type == "layout?" or self.name in FACE_ONLY

    def cpp_default(self) -> str | None:
        """The default as a C++ expression, or None."""
        text = self.default
        if text in DEFAULTS:
            return "nullptr" if self.type == "Generator?" else DEFAULTS[text]
        if text and text.startswith("["):
            return "{" + text[1:-1] + "}"
        if text and self.type.startswith("str"):
            return '"' + text.strip("\"'") + '"'
        return "{" + ", ".join([text] * self.repeat_int) + "}" if text and self.repeat_int else text

    def declare(self, with_default: bool) -> str:
        default = self.cpp_default() if with_default else None
        return f"{self.kind.param} {self.cpp}" + (f" = {default}" if default is not None else "")


@dataclass
class Schema:
    """A parsed schema."""

    text: str
    name: str
    overload: str
    params: list[Param]
    results: list[str]  # keys of RESULTS


def split_commas(text: str) -> list[str]:
    """Splits at commas outside brackets."""
    parts, depth, start = [], 0, 0
    for i, ch in enumerate(text):
        depth += (ch in "([{<") - (ch in ")]}>")
        if ch == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    return [*parts, text[start:].strip()] if text.strip() else []


def parse_param(text: str, keyword_only: bool) -> Param:
    match = re.fullmatch(r"([A-Za-z_]+)(\|Scalar)?(?:(\[)(\d*)\])?(\??) ([A-Za-z_]\w*)(?:=(.+))?", text)
    if not match:
        raise RegistryError(f"cannot read the parameter '{text}'")
    base, number, is_list, count, optional, name, default = match.groups()
    type_ = base + "[]" * bool(is_list) + optional
    if type_ not in KINDS:
        raise RegistryError(f"unknown type '{type_}' of parameter '{name}'")
    return Param(name, type_, default, keyword_only, int(count or 0), bool(number))


def parse(text: str) -> Schema:
    match = re.fullmatch(r"(_*[A-Za-z]\w*)(?:\.(\w+))?\((.*)\) -> (.+)", text)
    if not match:
        raise RegistryError("the schema does not parse: want 'name.overload(Type name=default, ...) -> results'")
    name, overload, inner, results = match.groups()
    parts = split_commas(inner.replace("**factory", FACTORY))
    star = parts.index("*") if "*" in parts else len(parts)
    params = [parse_param(part, i > star) for i, part in enumerate(parts) if i != star]
    if len({p.name for p in params}) != len(params):
        raise RegistryError("two parameters share a name")
    kinds = split_commas(results[1:-1]) if results.startswith("(") and results != "()" else [results]
    for kind in kinds:
        if kind not in RESULTS:
            raise RegistryError(f"unknown result type '{kind}'")
    return Schema(text, name, overload or "", params, kinds)
