"""From a graph to the source of a Cell: each node by a form, or by the callables that its row names."""

from __future__ import annotations

from typing import Any

from ms_adapter.capture import Graph, Node
from ms_adapter.capture.compiled import Uncompilable

from .. import _package
from ..backend import plan
from . import layers
from .forms import Call, forms
from .tracing import Symbol, Trace, Unsupported, Written, standing_in

HEAD = """import mindspore as ms
from mindspore import nn, ops


class Captured(nn.Cell):
    @ms.jit(jit_level="{level}")
    def construct(self, {inputs}):
"""


class Lowered:
    """A graph as source: what goes in, what comes out, in order."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.trace = graph, Trace()
        self.symbols: dict[int, Symbol] = {}
        self.inputs: list[int] = []  # values that are passed
        for id, value in enumerate(graph.values):
            if value.used and value.origin != "result" or id in graph.inputs:
                self._input(id)
        for node in graph.nodes:
            self._node(node)
        ids = [id for id in (*graph.outputs, *(value for _, value in graph.writes)) if id is not None]
        self.outputs = list(dict.fromkeys(ids))

    def _input(self, id: int) -> None:
        value = self.graph.values[id]
        tensor = self.trace.real.ops.zeros(value.shape, self._dtype(value.dtype, "an input"))
        self.symbols[id] = Symbol(self.trace, f"x{id}", tensor)
        self.inputs.append(id)

    def _dtype(self, dtype: Any, who: str) -> Any:
        theirs = dict(_package.dtype_pairs()).get(str(dtype).removeprefix("torch."))
        if theirs is None:
            raise Uncompilable(f"{who}: MindSpore has no {dtype}")
        return theirs

    def source(self, level: str) -> str:
        """The module that defines the Cell `Captured`."""
        names = ", ".join(self.symbols[id].name for id in self.inputs)
        given = [self.symbols[id].name for id in self.outputs]
        lines = [f"        {line}\n" for line in (*self.trace.lines, *self._conditions())]
        given.append("held" if self.trace.conditions else "None")
        return (
            HEAD.format(level=level, inputs=names) + "".join(lines) + f"        return {', '.join(given)},\n"
        )

    def _conditions(self) -> list[str]:
        names = [c.name for c in self.trace.conditions]
        if not names:
            return []
        joined = names[0]
        for name in names[1:]:
            joined = f"ops.logical_and({joined}, {name})"
        return [f"held = {joined}"]

    def _node(self, node: Node) -> None:
        ids = [*node.results, *(after for _, after in node.changes)]
        out = [self._expected(id, node) for id in ids]
        try:
            with standing_in(self.trace):
                given = self._lowered(node, out)
        except Unsupported as error:
            raise Uncompilable(f"{node.row}: {error} ({node.where})") from error
        if given is NotImplemented:
            raise Uncompilable(f"{node.row}: no MindSpore callable does it in a graph ({node.where})")
        parts = given if isinstance(given, tuple) else (given,)
        for id, part, expected in zip(ids, parts, out):
            if id is not None:
                self.symbols[id] = self._fitting(node, part, expected)
        used = [id for id in ids if id is not None and self.graph.values[id].used]
        if not self.symbols.keys() >= set(used):
            raise Uncompilable(f"{node.row}: MindSpore does not give all that backward needs ({node.where})")

    def _expected(self, id: int | None, node: Node) -> Any:
        if id is None:
            return (), None
        value = self.graph.values[id]
        return value.shape, self._dtype(value.dtype, f"{node.row} ({node.where})")

    def _fitting(self, node: Node, symbol: Any, expected: Any) -> Symbol:
        shape, dtype = expected
        if not isinstance(symbol, Symbol) or tuple(symbol.shape) != tuple(shape):
            raise Uncompilable(f"{node.row}: MindSpore gives another shape than {shape} ({node.where})")
        if symbol.dtype != dtype:
            with standing_in(self.trace) as ms:
                return ms.ops.cast(symbol, dtype)
        return symbol

    def _argument(self, kind: str, value: Any) -> Any:
        if kind == "value":
            return self.symbols[value]
        if kind == "values":
            return tuple(None if id is None else self.symbols[id] for id in value)
        name = str(value)
        if name.startswith("torch.") and name.removeprefix("torch.") in _package.DTYPES:
            return self._dtype(value, "an argument")
        return value

    def _lowered(self, node: Node, out: list[Any]) -> Any:
        args = [self._argument(*arg) for arg in node.args]
        if node.row in forms:
            return forms[node.row](Call(dict(zip(node.names, args)), out, self._strides(node)))
        args = [None if _is_place(arg) else arg for arg in args[: node.given]]
        return self._by_callables(node, args, out)

    def _strides(self, node: Node) -> tuple[int, ...]:
        kind, id = node.args[0]
        return self.graph.values[id].strides if kind == "value" else ()

    def _by_callables(self, node: Node, args: list[Any], out: list[Any]) -> Any:
        """By the first of the row's callables that does it."""
        _package.thread.standing_in, kept = None, _package.thread.standing_in
        try:
            candidates, fences = plan(node.row, node.ms)
        finally:
            _package.thread.standing_in = kept
        operands = _tensors(args)
        if candidates == "storage":
            raise Uncompilable(f"{node.row}: it works on memory, which a graph does not have ({node.where})")
        if any(str(t.dtype) in map(_dtype_text, fences) for t in operands):
            return NotImplemented
        for path, function, run, direct, empty, _ in candidates:
            if any(0 in t.shape for t in operands) and not empty:
                continue
            written = Written(self.trace, _path_text(path), function)
            own = layers.graph_adapters.get(run.__name__)
            if own is None and direct and "odd" not in fences and _uniform(args, operands, out):
                return written(*args)
            given = (own or run)(written, tuple(out), *args)
            if given is not NotImplemented:
                return given
        return NotImplemented


def _is_place(x: Any) -> bool:
    """A device or a memory format: nothing to a graph."""
    return type(x).__name__ in ("device", "memory_format", "layout")


def _tensors(args: list[Any]) -> list[Symbol]:
    found = [a for a in args if isinstance(a, Symbol)]
    return found + [t for a in args if isinstance(a, tuple) for t in a if isinstance(t, Symbol)]


def _uniform(args: list[Any], operands: list[Symbol], out: list[Any]) -> bool:
    """Nothing but tensors of one dtype, the result's or for a result of bools any; as on the device."""
    dtypes = {str(t.dtype) for t in operands}
    halves = dtypes & {"Float16", "BFloat16"}
    same = dtypes == {str(out[0][1])} or str(out[0][1]) == "Bool" and len(dtypes) == 1
    return len(out) == 1 and not halves and all(isinstance(a, Symbol) for a in args) and same


def _dtype_text(fence: Any) -> str:
    pairs = dict(_package.dtype_pairs())
    return str(pairs.get(str(fence).removeprefix("torch."), fence))


def _path_text(path: str) -> str:
    return path if path.startswith("ops.") else f"ms.{path}"
