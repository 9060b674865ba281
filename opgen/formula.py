"""The formula language: Python expressions over parameters, gradients, results and registered operators, turned into C++."""
from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .load import Row
from .schema import KINDS, Param, RegistryError, split_commas

BINARY = {ast.Add: ("+", "add"), ast.Sub: ("-", "sub"), ast.Mult: ("*", "mul"), ast.Div: ("/", "div"),
          ast.Pow: ("", "pow"), ast.FloorDiv: ("/", "floor_divide"), ast.Mod: ("%", "remainder"),
          ast.BitAnd: ("&", "bitwise_and"), ast.BitOr: ("|", "bitwise_or")}
COMPARE = {ast.Eq: ("==", "eq"), ast.NotEq: ("!=", "ne"), ast.Lt: ("<", "lt"), ast.LtE: ("<=", "le"), ast.Gt: (">", "gt"),
           ast.GtE: (">=", "ge")}
# Read from a tensor without keeping it: (C++ of a live tensor, C++ type, type in formulas).
PROPERTIES = {"sizes": ("sizes()", "Dims", "int[]"), "strides": ("strides()", "Dims", "int[]"),
              "dtype": ("dtype()", "DType", "dtype"), "dim": ("dim()", "int64_t", "int"),
              "numel": ("numel()", "int64_t", "int"),
              "offset": ("offset()", "int64_t", "int"), "device": ("device()", "Device", "device?"),
              "list_sizes": ("", "std::vector<Dims>", "opaque")}
PLAIN = {"int", "float", "bool", "int?", "float?", "bool?"}
CPP_TO_TYPE = {"Tensor": "Tensor"}
for _type, _kind in KINDS.items():  # where two have one C++ type the first stands for it: Tensor, not Tensor?
    CPP_TO_TYPE.setdefault(_kind.param, _type)


@dataclass
class Term:
    """A compiled subexpression: its C++ text and its schema type ('number' for literals)."""

    cpp: str
    type: str

    @property
    def is_plain(self) -> bool:
        return self.type in PLAIN or self.type in ("number", "Scalar")


@dataclass
class Callee:
    """Something a formula may call: a row or a helper of core/autograd/formulas.h."""

    cpp: str
    params: list[Param]
    result: str


class Library:
    """Everything that formulas may call, by name; several overloads to a name."""

    def __init__(self, rows: list[Row], helpers: Path | None) -> None:
        self.known: dict[str, list[Callee]] = {}
        self.file_of: dict[str, str] = {}  # C++ function -> the ops/*.toml that it comes from
        for row in rows:
            self.file_of |= dict.fromkeys((row.cpp, f"{row.cpp}_out", row.cpp_inplace), row.file)
            result = row.schema.results[0] if len(row.schema.results) == 1 else "tuple"
            if not row.inplace_only:
                callee = Callee(f"ops::{row.cpp}", row.params, result)
                for name in {row.name, row.cpp}:
                    self.known.setdefault(name, []).append(callee)
        if helpers and helpers.exists():
            for name, params, result in declarations(helpers.read_text()):
                self.known.setdefault(name, []).append(Callee(f"formulas::{name}", params, result))


def declarations(header: str) -> list[tuple[str, list[Param], str]]:
    """The free functions that a C++ header declares: (name, parameters, result)."""
    found = []
    code = re.sub(r"//[^\n]*", "", header)
    for match in re.finditer(r"^(?:inline )?([\w:<>, ]+?)\s+(\w+)\(([^;{]*?)\)\s*[;{]", code, re.M):
        result, name, inner = match.groups()
        if result.split()[0] in ("return", "struct", "namespace", "template"):
            continue
        params = []
        for part in split_commas(" ".join(inner.split())):
            text, _, default = part.partition(" = ")
            type_, _, pname = text.rpartition(" ")
            params.append(Param(pname, CPP_TO_TYPE.get(type_, "opaque"), default or None, False))
        found.append((name, params, {"Tensor": "Tensor", "TensorList": "Tensor[]"}.get(result, "tuple")))
    return found


class Compiler:
    """Compiles the formulas of one row. `used` collects the names whose values they read."""

    def __init__(self, row: Row, library: Library, names: dict[str, Term], where: str) -> None:
        self.row, self.library, self.names, self.where = row, library, names, where
        self.used: dict[str, Term] = {}
        self.properties: dict[str, tuple[str, str]] = {}  # "x_sizes" -> (x, "sizes")

    def fault(self, cause: str) -> RegistryError:
        return self.row.fault(f"{self.where}: {cause}")

    def compile(self, text: str) -> Term:
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except SyntaxError as err:
            raise self.fault(f"'{text}' is no expression: {err.msg}") from None
        return self.go(tree)

    def go(self, node: ast.expr) -> Term:
        method = getattr(self, f"on_{type(node).__name__}", None)
        term = method(node) if method else None
        if term is None:
            raise self.fault(f"'{ast.unparse(node)}' is outside the formula language")
        return term

    def on_Name(self, node: ast.Name) -> Term:
        if node.id not in self.names:
            raise self.fault(f"unknown name '{node.id}'")
        self.used[node.id] = self.names[node.id]
        return self.names[node.id]

    def on_Constant(self, node: ast.Constant) -> Term | None:
        value: Any = node.value
        terms = {bool: Term(str(value).lower(), "bool"), int: Term(f"int64_t{{{value}}}", "number"),
                 float: Term(repr(value), "number"), str: Term(f'"{value}"', "str"), type(None): Term("{}", "None")}
        return terms.get(type(value))

    def on_List(self, node: ast.List) -> Term:
        return Term("Dims{" + ", ".join(self.go(e).cpp for e in node.elts) + "}", "int[]")

    def on_Attribute(self, node: ast.Attribute) -> Term:
        if node.attr not in PROPERTIES or not isinstance(node.value, ast.Name):
            raise self.fault(f"'{ast.unparse(node)}': only {sorted(PROPERTIES)} of a named tensor can be read")
        name = node.value.id
        kind = self.names[name].type if name in self.names else ""
        read = "list_sizes" if kind == "Tensor[]" and node.attr == "sizes" else node.attr
        if kind not in ("Tensor", "Tensor?") and read != "list_sizes":
            raise self.fault(f"'{name}' is not a tensor of this row")
        live, _, type_ = PROPERTIES[read]
        if live and (name == "grad" or self.where == "body"):  # the tensor is at hand
            return Term(f"{self.go(node.value).cpp}.{live}", type_)
        self.properties[f"{name}_{node.attr}"] = (name, read)
        return Term(f"{name}_{node.attr}", type_)

    def on_Subscript(self, node: ast.Subscript) -> Term:
        if not isinstance(node.slice, ast.Constant):
            raise self.fault(f"'{ast.unparse(node)}': an index is a number here")
        whole = ast.unparse(node)
        if whole in self.names:
            self.used[whole] = self.names[whole]
            return self.names[whole]
        base = self.go(node.value)
        return Term(f"{base.cpp}[{node.slice.value!r}]", "Tensor" if base.type == "Tensor[]" else "int")

    def on_UnaryOp(self, node: ast.UnaryOp) -> Term | None:
        value = self.go(node.operand)
        if isinstance(node.op, ast.USub):
            return self.call("neg", [value], {}) if value.type == "Tensor" else Term(f"(-{value.cpp})", value.type)
        if isinstance(node.op, ast.Not):
            return Term(f"(!{value.cpp})", "bool")
        return self.call("logical_not", [value], {}) if isinstance(node.op, ast.Invert) else None

    def on_BinOp(self, node: ast.BinOp) -> Term | None:
        operator = BINARY.get(type(node.op))
        return self.infix(*operator, self.go(node.left), self.go(node.right)) if operator else None

    def infix(self, symbol: str, name: str, left: Term, right: Term) -> Term:
        if left.is_plain and right.is_plain:
            left_cpp, right_cpp = (f"{t.cpp}.to_double()" if t.type == "Scalar" else t.cpp for t in (left, right))
            if not symbol:
                return Term(f"std::pow(static_cast<double>({left_cpp}), static_cast<double>({right_cpp}))", "float")
            kind = "float" if "float" in (left.type, right.type) or "Scalar" in (left.type, right.type) else left.type
            return Term(f"({left_cpp} {symbol} {right_cpp})", kind)
        if left.is_plain and name in ("mul", "add"):  # numbers second, as PyTorch has them: halves then round the same
            left, right = right, left
        return self.call(name, [left, right], {})

    def on_Compare(self, node: ast.Compare) -> Term | None:
        op, left, right = node.ops[0], self.go(node.left), self.go(node.comparators[0])
        if len(node.ops) == 1 and isinstance(op, (ast.Is, ast.IsNot)) and right.type == "None":
            has = f"{left.cpp}.defined()" if left.type.startswith("Tensor") else f"{left.cpp}.has_value()"
            return Term(has if isinstance(op, ast.IsNot) else f"(!{has})", "bool")
        if len(node.ops) != 1 or type(op) not in COMPARE:
            return None
        symbol, name = COMPARE[type(op)]
        if "Tensor" in (left.type, right.type):
            return self.infix(symbol, name, left, right)
        return Term(f"({left.cpp} {symbol} {right.cpp})", "bool")

    def on_BoolOp(self, node: ast.BoolOp) -> Term:
        symbol = " && " if isinstance(node.op, ast.And) else " || "
        return Term("(" + symbol.join(self.go(v).cpp for v in node.values) + ")", "bool")

    def on_IfExp(self, node: ast.IfExp) -> Term:
        test, yes, no = self.go(node.test), self.go(node.body), self.go(node.orelse)
        if "Tensor" in (yes.type, no.type):
            yes, no = (Term("Tensor()", "Tensor") if t.type == "None" else t for t in (yes, no))
        return Term(f"({test.cpp} ? {yes.cpp} : {no.cpp})", yes.type)

    def on_Call(self, node: ast.Call) -> Term:
        if not isinstance(node.func, ast.Name):
            raise self.fault(f"'{ast.unparse(node.func)}' is no operator name")
        keywords = {k.arg: self.go(k.value) for k in node.keywords if k.arg}
        return self.call(node.func.id, [self.go(a) for a in node.args], keywords)

    def call(self, name: str, args: list[Term], keywords: dict[str, Term]) -> Term:
        choices = self.library.known.get(name)
        if not choices:
            raise self.fault(f"unknown operator '{name}'")
        causes = []
        for callee in choices:
            try:
                return Term(f"{callee.cpp}({', '.join(self.bind(name, callee, args, keywords))})", callee.result)
            except ValueError as err:
                causes.append(str(err))
        raise self.fault(causes[0] if len(causes) == 1 else f"no overload of '{name}' fits: " + "; ".join(causes))

    def bind(self, name: str, callee: Callee, args: list[Term], keywords: dict[str, Term]) -> list[str]:
        """The C++ arguments of a call, by Python's rules; raises ValueError when they do not fit."""
        if len(args) > len(callee.params):
            raise ValueError(f"'{name}' takes {len(callee.params)} arguments, the formula gives {len(args)}")
        known = {p.name for p in callee.params}
        if unknown := set(keywords) - known:
            raise ValueError(f"'{name}' has no parameter '{sorted(unknown)[0]}'")
        out: list[str] = []
        last = max([len(args) - 1, *(i for i, p in enumerate(callee.params) if p.name in keywords)], default=-1)
        for i, param in enumerate(callee.params):
            given = args[i] if i < len(args) else keywords.get(param.name)
            if given is not None:
                out.append(convert(name, param, given))
            elif param.default is None:
                raise ValueError(f"'{name}' misses its argument '{param.name}'")
            elif i < last:
                value_type = "" if param.type == "opaque" else param.kind.param.replace("const ", "").rstrip("&")
                out.append(f"{value_type}({param.cpp_default()})" if value_type else str(param.default))
        return out


def convert(name: str, param: Param, given: Term) -> str:
    """`given` as an argument for `param`; ValueError when the types cannot meet."""
    if param.type == "opaque":
        return given.cpp
    if param.is_tensor:
        if given.type == "None":
            return "Tensor()"
        if given.is_plain:
            return f"wrapped_number(Scalar({given.cpp}))"
        if given.type not in ("Tensor", "Tensor?"):
            raise ValueError(f"'{name}': '{param.name}' is a Tensor, the formula gives {given.type}")
        return given.cpp
    if given.type == "Tensor":
        raise ValueError(f"'{name}': '{param.name}' is {param.type}, the formula gives a Tensor")
    if param.type in ("Scalar", "Scalar?") and given.is_plain:
        return f"Scalar({given.cpp})"
    if param.type in ("int[]", "int[]?") and given.type in ("number", "int"):
        return "Dims{" + ", ".join([given.cpp] * (param.repeat_int or 1)) + "}"
    return given.cpp
