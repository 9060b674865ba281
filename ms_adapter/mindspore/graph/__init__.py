"""Captured graphs compiled by MindSpore's graph mode (docs/mindspore.md)."""

from __future__ import annotations

from typing import Any


def compile_graph(graph: Any) -> Any:
    """A program of the graph, by MindSpore; Uncompilable where it has no callable for an operator."""
    from .program import Program

    return Program(graph)
