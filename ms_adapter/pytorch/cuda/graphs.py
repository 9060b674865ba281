"""Recorded launches of CUDA: classes to name in annotations and isinstance, as there is no CUDA here."""

from .._no_accelerator import refusing_class

__all__ = ["CUDAGraph", "graph"]

CUDAGraph = refusing_class("ms_adapter.pytorch.cuda", "CUDAGraph")
graph = refusing_class("ms_adapter.pytorch.cuda", "graph")
