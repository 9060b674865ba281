"""Writes a graph as Python: the text of ``GraphModule.code``, and the names it needs."""

import dataclasses
import enum
import math

import ms_adapter.pytorch as torch

from ._names import qualified_name, resolve
from .node import _type_repr, map_arg

_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "floordiv": "//",
    "truediv": "/",
    "mod": "%",
    "pow": "**",
    "lshift": "<<",
    "rshift": ">>",
    "and_": "&",
    "or_": "|",
    "xor": "^",
    "matmul": "@",
}
_COMPARE = {"eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">="}
reflectable_magic_methods = {name: f"{{}} {sign} {{}}" for name, sign in _BINARY.items()}
magic_methods = {
    **{name: f"{{}} {sign} {{}}" for name, sign in _COMPARE.items()},
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    "getitem": "{}[{}]",
    **reflectable_magic_methods,
}
_INPLACE = {f"i{name.rstrip('_')}": f"{sign}=" for name, sign in _BINARY.items()}
_BUILTINS = {  # globals that every generated function has, and how a file imports them
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "torch": ("import torch", torch),
    "device": ("from torch import device", torch.device),
}


@dataclasses.dataclass
class PythonCode:
    """Source of a function, and the values of the global names in it."""

    src: str
    globals: dict


class CodeGen:
    """Writes the function; subclasses change how it takes inputs and gives outputs."""

    def __init__(self):
        self._body_transformer = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars, maybe_return_annotation):
        """The line that begins the function."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args):
        """The line that ends it."""
        return f"return {_text(output_args)}"

    def process_inputs(self, *args):
        """The function's arguments as the placeholders take them."""
        return args

    def process_outputs(self, outputs):
        """The output as the function returns it."""
        return outputs

    def additional_globals(self):
        """(name, value) of further global names."""
        return []

    def python_code(self, graph, root_module, namespace):
        """The PythonCode of a graph."""
        return _Writer(self, graph, root_module, namespace).write()


class _Writer:
    """One writing of one graph."""

    def __init__(self, codegen, graph, root_module, namespace):
        self.codegen, self.graph, self.root, self.names = codegen, graph, root_module, namespace
        self.globals = {name: value for name, (_, value) in _BUILTINS.items()}
        self.globals.update(codegen.additional_globals())
        for name in self.globals:
            namespace.create_name(name, name)
        for node in graph.nodes:
            namespace.associate(node.name, node)
        self.free_vars, self.lines, self.wrapped, self.returns = [], [], {}, ""

    def write(self):
        last_uses = self.last_uses()
        for node in self.graph.nodes:
            self.lines.append(self.statement(node))
            if node.op == "placeholder":
                continue
            done = last_uses.get(node, []) + ([] if node.users or node.op == "output" else [node])
            self.lines.append(f";  {' = '.join(map(repr, done))} = None\n" if done else "\n")
        self.lines = [line for line in self.lines if line]
        if not any(line != "\n" for line in self.lines):
            self.lines.append("pass\n")
        if self.codegen._body_transformer is not None:
            self.lines = self.codegen._body_transformer(self.lines)
        wraps = "\n".join(f'torch.fx._symbolic_trace.wrap("{name}")' for name in self.wrapped)
        definition = self.codegen.gen_fn_def(self.free_vars, self.returns)
        body = "".join(self.lines)
        body = "\n".join("    " + line for line in body.split("\n"))
        return PythonCode(f"\n{wraps}\n\n{definition}\n{body}", self.globals)

    def last_uses(self):
        """Which values each node is the last to use: they are let go after it."""
        seen, by_user = set(), {}
        for node in reversed(self.graph.nodes):
            if node.op == "output":
                map_arg(node.args, seen.add)
                continue

            def note(used, node=node):
                if used not in seen:
                    seen.add(used)
                    by_user.setdefault(node, []).append(used)

            map_arg(node.args, note)
            map_arg(node.kwargs, note)
        return by_user

    def statement(self, node):
        """The line of one node, without its end."""
        if node.op == "placeholder":
            return self.placeholder(node)
        if node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.annotation(node.type)}"
            return self.codegen.generate_output(self.prepared(node.args[0]))
        kind = f" : {self.annotation(node.type)}" if node.type is not None else ""
        start = f"{node!r}{kind} = "
        if node.op == "get_attr":
            return start + _attribute(self.root, node.target)
        if node.op == "call_module":
            return f"{start}{_attribute(self.root, node.target)}({self.arguments(node.args, node.kwargs)})"
        if node.op == "call_method":
            rest = self.arguments(node.args[1:], node.kwargs)
            return f"{start}{self.text(node.args[0])}.{node.target}({rest})"
        return start + self.call(node)

    def placeholder(self, node):
        kind = f" : {self.annotation(node.type)}" if node.type is not None else ""
        default = f" = {self.text(node.args[0])}" if node.args else ""
        self.free_vars.append(f"{node.target}{kind}{default}")
        raw = node.target.lstrip("*")
        return "" if raw == repr(node) else f"{node!r} = {raw}\n"

    def call(self, node):
        target, args = node.target, node.args
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == "_operator" and not node.kwargs:
            if name in magic_methods:
                return magic_methods[name].format(*map(self.text, args))
            if name in _INPLACE:
                first, other = map(self.text, args)
                return f"{first}; {node!r} {_INPLACE[name]} {other}"
        if target is getattr and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return f"{self.text(args[0])}.{args[1]}"
        called = self.add_global(qualified_name(target), target)
        if node.meta.get("is_wrapped"):
            self.wrapped.setdefault(called)
        return f"{called}({self.arguments(args, node.kwargs)})"

    # ---- names and values -----------------------------------------------------------------------
    def add_global(self, name_hint, value):
        """The name by which the code calls ``value``: a dotted one below torch, or a global of its own."""
        if value is not torch.device and resolve(name_hint) is value:
            return name_hint
        name = name_hint.replace(".", "_")
        if name in self.globals and self.globals[name] is value:
            return name
        name = self.names.create_name(name_hint, value)
        self.globals[name] = value
        return name

    def annotation(self, kind):
        text = _type_repr(kind)
        origin = getattr(kind, "__origin__", None)
        if origin is not None:  # list[int], Optional[Tensor]
            return self.add_global(text.replace("[", "_").replace("]", "").replace(", ", "_"), kind)
        if isinstance(kind, str) or kind in (None, type(None)):
            return "None" if not isinstance(kind, str) else repr(kind)
        if getattr(kind, "__module__", "") == "builtins":
            return text
        return self.add_global(text, kind)

    def arguments(self, args, kwargs):
        named = [f"{key} = {self.text(value)}" for key, value in kwargs.items()]
        return ", ".join([self.text(value) for value in args] + named)

    def text(self, value):
        return _text(self.prepared(value))

    def prepared(self, value):
        """The value with what has no text of its own replaced by global names."""
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            name = self.add_global(_type_repr(type(value)), type(value))
            return _Verbatim(f"{name}({', '.join(self.text(item) for item in value)})")
        if isinstance(value, torch.Size):
            return _Verbatim(f"torch.Size([{', '.join(self.text(item) for item in value)}])")
        if isinstance(value, (tuple, list)):
            return type(value)([self.prepared(item) for item in value])
        if isinstance(value, dict):
            return type(value)({key: self.prepared(item) for key, item in value.items()})
        if isinstance(value, enum.Enum):
            return _Verbatim(f"{self.add_global(_type_repr(type(value)), type(value))}.{value.name}")
        if isinstance(value, torch.ops.OpOverload):
            return _Verbatim(self.add_global(f"torch.ops.{value}", value))
        if isinstance(value, type) or callable(value) and hasattr(value, "__name__"):
            return _Verbatim(self.add_global(qualified_name(value), value))
        return value


class _Verbatim:
    """Text that stands for itself."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _text(value):
    """A value as an expression."""
    if isinstance(value, torch.Tensor):
        raise RuntimeError(
            "fx: a tensor cannot stand in generated code; register it as a buffer of the module."
        )
    return repr(value)


def _attribute(root, target):
    """``root.a.b`` for "a.b", with getattr where a part is no identifier."""
    text = root
    for atom in target.split("."):
        text = f"{text}.{atom}" if atom.isidentifier() else f'getattr({text}, "{atom}")'
    return text


def import_block(values):
    """The imports that give a generated function its global names."""
    lines = set()
    for name, value in values.items():
        if name in _BUILTINS:
            lines.add(_BUILTINS[name][0])
            continue
        module, _, attribute = qualified_name(value).rpartition(".")
        lines.add(f"from {module} import {attribute} as {name}")
    return "\n".join(sorted(lines | {text for text, _ in _BUILTINS.values()}))
