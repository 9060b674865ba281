"""Captured graphs: what a function of tensors does, as values and operators (docs/capture.md)."""

from __future__ import annotations

from .graphs import Graph, Node, NotCapturable, Value, graph

__all__ = ["Graph", "Node", "NotCapturable", "Value", "graph"]
