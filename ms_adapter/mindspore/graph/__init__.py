"""Captured graphs compiled by MindSpore's graph mode (docs/mindspore.md)."""

from __future__ import annotations

from .program import Program, compile_graph

__all__ = ["Program", "compile_graph"]
