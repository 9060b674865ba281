"""Graphs as Python sees them: as text, as JSON, as lists of values and nodes, and run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class NotCapturable(RuntimeError):
    """A function cannot stand as a graph; the text says which operator, why, and the user's line."""


class Value(NamedTuple):
    """A value of a graph. `origin` is "input", "captured" (a tensor from outside, which `tensor` is),
    "constant" (`tensor` has its elements) or "result"."""

    origin: str
    dtype: Any
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    device: Any
    tensor: Any
    used: bool


class Node(NamedTuple):
    """An operator call. `args` are pairs, of which the first `given` say something: ("value", id),
    ("values", [id, ...]), ("number", where a tensor may stand), ("plain", anything else), ("none", None).
    `changes` are pairs of an argument's place and the id of its value after it; `ms` are the row's words."""

    row: str
    form: str
    names: list[str]
    args: list[tuple[str, Any]]
    given: int
    results: list[int | None]
    changes: list[tuple[int, int]]
    random: bool
    where: str
    ms: list[str]


class Graph:
    """What a function does: `values`, `nodes` in order, and the ids of `inputs` and `outputs`; `writes` are
    pairs of an input or captured tensor and the value that it holds at the end."""

    def __init__(self, core: Any) -> None:
        self.core = core
        values, nodes, self.inputs, self.outputs, self.writes = core.parts()
        self.values = [Value(*v) for v in values]
        self.nodes = [Node(*n) for n in nodes]

    def text(self) -> str:
        """An operator a line, as a person reads it."""
        return self.core.text()

    __str__ = text

    def replay(self, *inputs: Any) -> list[Any]:
        """The outputs for other inputs of the same shapes, computed on our own engine."""
        return self.core.replay(list(inputs))

    def difference(self, later: Graph) -> str | None:
        """None where a later recording did the same, else where they part."""
        return self.core.difference(later.core)

    def split(self, n_inputs: int, n_outputs: int) -> tuple[Graph, Graph]:
        """The graph of the first outputs and that of the rest, which takes what it needs of the first."""
        first, second = self.core.split(n_inputs, n_outputs)
        return Graph(first), Graph(second)

    def split_draws(self) -> tuple[Graph, Graph]:
        """The graph of the draws alone, and the rest, which takes what they give before its inputs."""
        draws, rest = self.core.split_draws()
        return Graph(draws), Graph(rest)

    def to_json(self) -> str:
        """The graph as JSON: {"values", "nodes", "inputs", "outputs", "writes"}; elements are left out."""
        values = [
            {
                "id": i,
                "origin": v.origin,
                "dtype": _name(v.dtype),
                "shape": list(v.shape),
                "device": str(v.device),
            }
            for i, v in enumerate(self.values)
            if v.used or v.origin == "input"
        ]
        nodes = [
            {
                "operator": n.row,
                "form": n.form,
                "arguments": {name: _plain(*arg) for name, arg in zip(n.names, n.args, strict=True)},
                "results": n.results,
                "changes": [
                    {"argument": n.names[i] if i < len(n.names) else f"out{i - len(n.names)}", "value": v}
                    for i, v in n.changes
                ],
                "random": n.random,
                "where": n.where,
            }
            for n in self.nodes
        ]
        writes = [{"target": target, "value": value} for target, value in self.writes]
        whole = {
            "values": values,
            "nodes": nodes,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "writes": writes,
        }
        return json.dumps(whole, indent=1)


def _name(dtype: Any) -> str:
    return str(dtype).removeprefix("torch.")


def _plain(kind: str, value: Any) -> Any:
    """An argument in JSON: values as {"value": id}, what JSON has as it is, the rest as text."""
    if kind == "value":
        return {"value": value}
    if kind == "values":
        return {"values": value}
    if isinstance(value, float) and value - value != 0 or isinstance(value, complex):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return [_plain(kind, x) for x in value] if isinstance(value, tuple) else _name(value)


def graph(fn: Callable[..., Any], *inputs: Any, **kwargs: Any) -> Graph:
    """Runs `fn(*inputs, **kwargs)` once and gives what it did as a graph; tensors among the arguments are the
    graph's inputs.

    Raises NotCapturable where Python looked at elements (`item()`, `if x.sum() > 0`, `numpy()`) or a shape
    depends on them.

    >>> import ms_adapter.pytorch as torch
    >>> g = graph(lambda x: x.t() * 2, torch.ones(2, 3))
    >>> [node.row for node in g.nodes]
    ['t', 'mul']
    >>> g.replay(torch.full((2, 3), 2.0))[0].shape
    torch.Size([3, 2])
    """
    from .recording import record

    made = record(fn, inputs, kwargs)
    if made.graph is None:
        raise NotCapturable(f"{_title(fn)}: {made.reason}.")
    return made.graph


def _title(fn: Any) -> str:
    return getattr(fn, "__qualname__", type(fn).__name__)


def package_folder() -> str:
    """Where our own files are: their lines are not the user's."""
    import ms_adapter

    return str(Path(ms_adapter.__file__).parent / "_")[:-1]
