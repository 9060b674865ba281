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


KINDS = {
    "Tensor": Kind("const Tensor&", "SavedTensor", "Tensor", "tensor()"),
    "Tensor?": Kind("const Tensor&", "SavedTensor", "Tensor", "tensor()"),
    "Tensor[]": Kind("const TensorList&", "std::vector<SavedTensor>", "Tensors", "tensors()"),
    "Scalar": Kind("const Scalar&", "Scalar", "Scalar", "scalar()"),
    "Scalar?": Kind("const OptScalar&", "OptScalar", "Scalar", "opt_scalar()"),
    "int": Kind("int64_t", "int64_t", "Int", "integer()"),
    "int?": Kind("OptInt", "OptInt", "Int", "opt_integer()"),
    "float": Kind("double", "double", "Float", "real()"),
    "float?": Kind("OptFloat", "OptFloat", "Float", "opt_real()"),
    "bool": Kind("bool", "bool", "Bool", "boolean()"),
    "bool?": Kind("OptBool", "OptBool", "Bool", "opt_boolean()"),
    "int[]": Kind("const Dims&", "Dims", "Dims", "dims()"),
    "int[]?": Kind("const OptDims&", "OptDims", "Dims", "opt_dims()"),
    "float[]": Kind("const std::vector<double>&", "std::vector<double>", "Floats", "floats()"),
    "float[]?": Kind("const OptFloats&", "OptFloats", "Floats", "opt_floats()"),
    "str": Kind("std::string_view", "std::string", "Str", "str()"),
    "str?": Kind("OptStr", "std::optional<std::string>", "Str", "opt_str()"),
    "dtype": Kind("DType", "DType", "DType", "dtype()"),
    "dtype?": Kind("OptDType", "OptDType", "DType", "opt_dtype()"),
    "device?": Kind("OptDevice", "OptDevice", "Device", "opt_device()"),
    "memory_format": Kind("MemoryFormat", "MemoryFormat", "Format", "format()"),
    "memory_format?": Kind("OptFormat", "OptFormat", "Format", "opt_format()"),
    "Generator?": Kind("OptGenerator", "", "Generator", "generator()"),
    "layout?": Kind("", "", "Layout", ""),  # face only: the boxed call converts to it
}
RESULTS = {"Tensor": "Tensor", "Tensor[]": "TensorList", "bool": "bool", "int": "int64_t", "float": "double",
           "Scalar": "Scalar", "()": "void"}
FACTORY = "dtype? dtype=None, layout? layout=None, device? device=None, bool? pin_memory=False, bool? requires_grad=False"
FACE_ONLY = {"layout", "pin_memory", "requires_grad"}  # handled by the boxed call, unseen by C++ code
CPP_WORDS = {"and", "or", "not", "xor", "default", "float", "int", "double", "bool", "long", "short", "register", "auto",
             "signed", "unsigned", "char", "new", "delete", "this", "union", "export", "static", "switch", "template"}


def cpp_word(name: str) -> str:
    return name + "_" if name in CPP_WORDS else name


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
        if text is None:
            return None
        if text == "None":
            return "nullptr" if self.type == "Generator?" else "{}"
        if text in ("True", "False"):
            return text.lower()
        if text.startswith("["):
            return "{" + text[1:-1] + "}"
        if self.repeat_int:
            return "{" + ", ".join([text] * self.repeat_int) + "}"
        if self.type.startswith("memory_format"):
            return {"preserve": "MemoryFormat::Preserve", "contiguous": "MemoryFormat::Contiguous"}[text]
        if self.type.startswith("str"):
            return '"' + text.strip("\"'") + '"'
        if text in ("inf", "-inf"):
            return text.replace("inf", "HUGE_VAL")
        return text

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
    match = re.fullmatch(r"([A-Za-z_]+(?:\|Scalar)?(?:\[\d*\])?\??) ([A-Za-z_]\w*)(?:=(.+))?", text)
    if not match:
        raise RegistryError(f"cannot read the parameter '{text}'")
    type_, name, default = match.groups()
    takes_number, repeat = "|Scalar" in type_, 0
    type_ = type_.replace("|Scalar", "")
    if sized := re.search(r"\[(\d+)\]", type_):
        repeat = int(sized.group(1))
        type_ = type_.replace(sized.group(0), "[]")
    if type_ not in KINDS:
        raise RegistryError(f"unknown type '{type_}' of parameter '{name}'")
    return Param(name, type_, default, keyword_only, repeat, takes_number)


def parse(text: str) -> Schema:
    match = re.fullmatch(r"(_*[A-Za-z]\w*)(?:\.(\w+))?\((.*)\) -> (.+)", text)
    if not match:
        raise RegistryError("the schema does not parse: want 'name.overload(Type name=default, ...) -> results'")
    name, overload, inner, results = match.groups()
    params: list[Param] = []
    keyword_only = False
    for part in split_commas(inner.replace("**factory", FACTORY)):
        if part == "*":
            keyword_only = True
        else:
            params.append(parse_param(part, keyword_only))
    if len({p.name for p in params}) != len(params):
        raise RegistryError("two parameters share a name")
    kinds = split_commas(results[1:-1]) if results.startswith("(") and results != "()" else [results]
    for kind in kinds:
        if kind not in RESULTS:
            raise RegistryError(f"unknown result type '{kind}'")
    return Schema(text, name, overload or "", params, kinds)
