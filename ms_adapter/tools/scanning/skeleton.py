"""The skeleton of an operator of one's own: a C++ kernel that compiles, and the module that loads it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from ms_adapter.tools.frame import ToolError
from ms_adapter.tools.whole import write_whole

from .strategies import ANY_SCHEMA, CUSTOM, strategy

TAKEN = {  # words that no variable of the kernel may have
    *("in", "out", "auto", "bool", "case", "char", "class", "const", "default", "delete", "do", "double"),
    *("else", "enum", "explicit", "export", "extern", "float", "for", "friend", "if", "inline", "int"),
    *("long", "mutable", "namespace", "new", "operator", "private", "public", "register", "return", "short"),
    *(
        "signed",
        "static",
        "struct",
        "switch",
        "template",
        "this",
        "throw",
        "typedef",
        "union",
        "unsigned",
        "using",
    ),
    *("virtual", "void", "while", "from", "to", "ext"),
}
# How a kernel takes a parameter of a schema, by type; lists come as the argument itself.
TAKES = {
    "Tensor": "const ext::Tensor& {name} = in.tensor({i});",
    "Tensor?": "const ext::Tensor& {name} = in.tensor({i});  // {name}.defined is false for None",
    "int": "const int64_t {name} = in.integer({i});",
    "dtype": "const int64_t {name} = in.integer({i});",
    "float": "const double {name} = in.real({i});",
    "Scalar": "const double {name} = in.real({i});",
    "bool": "const bool {name} = in.flag({i});",
    "str": "const std::string_view {name} = in.text({i});",
}
LIST = "const ext::Argument& {name} = in[{i}];  // {name}.count of them"
NOT_YET = "the formula is not written yet"

KERNEL = """\
// {name}: an operator of one's own{of}.
// What is to be written is marked TODO; docs/cpp_extension.md of ms_adapter tells what a kernel is given.
#include <ms_adapter/kernel.h>

namespace ext = ms_adapter;

{functions}
MS_ADAPTER_KERNEL("{schema}",
                  {name})
    .shape({name}_shape){gradient};
"""
FUNCTION = """\
void {name}(const ext::Inputs& in, ext::Outputs& out) {{
{takes}
  ext::dispatch_floating({first}, [&](auto zero) {{  // TODO: ext::dispatch_all for integers, too
    using T = decltype(zero);
    [[maybe_unused]] const T* from = {first}.data<T>();
    [[maybe_unused]] T* to = out[0].data<T>();
    for (int64_t i = 0; i < {first}.numel; ++i) {{
      throw std::logic_error("{not_yet}");  // TODO: to[i] = ... from[i] ...;
    }}
  }});
}}
"""
SHAPE = """\
void {name}_shape(const ext::Inputs& in, ext::Outputs& out) {{
  const ext::Tensor& {first} = in.tensor({at});
  for (int32_t k = 0; k < out.count(); ++k)
    out.set(k, {first}.shape(), {first}.dtype);  // TODO: as they shall be
}}
"""
BACKWARD = """
// The gradient of each result first, then all arguments; the gradient of each of the tensors.
{function}"""
MODULE = '''\
"""{name}{of}: builds the kernel beside this file at its first import, and loads it."""

from pathlib import Path

from ms_adapter.utils.cpp_extension import load

_library = load("skeleton_{name}", [str(Path(__file__).with_name("{name}.cpp"))])
{name} = _library.{name}
'''


@dataclass(frozen=True)
class Schema:
    """`name(Tensor input, float alpha=1.0) -> Tensor`, taken apart."""

    name: str
    parameters: list[tuple[str, str]]  # type and name
    results: int
    text: str

    def tensors(self) -> list[int]:
        return [i for i, (kind, _) in enumerate(self.parameters) if kind == "Tensor"]


def parsed(text: str) -> Schema:
    """A schema as PyTorch writes them."""
    found = re.fullmatch(r"\s*([A-Za-z_]\w*)\((.*)\)\s*->\s*(.+?)\s*", text)
    if found is None:
        raise ToolError(
            f"{text!r} is no schema: it is written like name(Tensor input, float alpha=1.0) -> Tensor"
        )
    name, inside, back = found.groups()
    parameters = []
    for part in filter(None, (p.strip() for p in inside.split(","))):
        if part == "*":
            continue
        kind, _, rest = part.partition(" ")
        known = kind.rstrip("?") in TAKES or kind in TAKES or "[" in kind
        if not known or not rest:
            raise ToolError(f"{text!r}: parameter {part!r} is not a type that a kernel takes, with a name")
        parameters.append((kind, rest.partition("=")[0].strip()))
    if not any(kind == "Tensor" for kind, _ in parameters):
        raise ToolError(f"{text!r}: a kernel needs a parameter of type Tensor")
    return Schema(name, parameters, back.count("Tensor"), text.strip())


def schema_of(name: str) -> str:
    """The schema of a missing name, where one is known; else that of a function of one tensor."""
    found = strategy(name)
    return found.use if found.kind == CUSTOM else name.rpartition(".")[2] + ANY_SCHEMA


def variable(name: str) -> str:
    return name + "_" if name in TAKEN else name


def function(schema: Schema) -> str:
    """A kernel that takes its parameters apart and raises until its formula is written."""
    takes = [
        f"  [[maybe_unused]] {TAKES.get(kind, TAKES.get(kind.rstrip('?'), LIST))}".format(
            name=variable(name), i=i
        )
        for i, (kind, name) in enumerate(schema.parameters)
    ]
    first = variable(schema.parameters[schema.tensors()[0]][1])
    return FUNCTION.format(name=schema.name, takes="\n".join(takes), first=first, not_yet=NOT_YET)


def backward(schema: Schema) -> Schema:
    """What the gradient's kernel is given, and gives: a tensor for each tensor of the forward kernel."""
    grads = ["grad"] if schema.results == 1 else [f"grad_{k}" for k in range(schema.results)]
    parameters = [("Tensor", g) for g in grads] + schema.parameters
    results = len(schema.tensors())
    back = "Tensor" if results == 1 else f"({', '.join(['Tensor'] * results)})"
    inside = ", ".join(f"{kind} {name}" for kind, name in parameters)
    name = f"{schema.name}_backward"
    return Schema(name, parameters, results, f"{name}({inside}) -> {back}")


def kernel(schema: Schema, of: str) -> str:
    """The C++ source."""
    at = schema.tensors()[0]
    first = variable(schema.parameters[at][1])
    parts = [function(schema), SHAPE.format(name=schema.name, first=first, at=at)]
    gradient, row = "", ""
    if all(kind == "Tensor" for kind, _ in schema.parameters if kind.startswith("Tensor")):
        back = backward(schema)
        parts.append(BACKWARD.format(function=function(back)).lstrip("\n"))
        gradient = f'\n    .backward("{back.name}")'
        row = f'MS_ADAPTER_KERNEL("{back.text}",\n                  {back.name});\n'
    functions = "\n".join(parts)
    return (
        KERNEL.format(name=schema.name, of=of, functions=functions, schema=schema.text, gradient=gradient)
        + row
    )


def write_skeleton(name: str, folder: Path, schema: str | None = None) -> list[Path]:
    """Write NAME.cpp and NAME.py; files that are there already are left alone, with an error."""
    taken = parsed(schema or schema_of(name))
    of = f" in place of {name}" if "." in name else ""
    texts = {
        folder / f"{taken.name}.cpp": kernel(taken, of),
        folder / f"{taken.name}.py": MODULE.format(name=taken.name, of=of),
    }
    for path in texts:
        if path.exists():
            raise ToolError(f"{path} exists: a skeleton overwrites nothing")
    folder.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        write_whole(path, text.encode())
    return list(texts)
