"""Runs a graph once and notes each value's shape, dtype and the like in ``node.meta``."""

import typing

import ms_adapter.pytorch as torch

from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(typing.NamedTuple):
    """What is known of a tensor without its data."""

    shape: torch.Size
    dtype: torch.dtype
    requires_grad: bool
    stride: tuple
    memory_format: object
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    formats = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)
    dims = {torch.channels_last: 4, torch.channels_last_3d: 5}
    fits = (
        f
        for f in formats
        if include_contiguity
        and dims.get(f, result.dim()) == result.dim()
        and result.is_contiguous(memory_format=f)
    )
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(), next(fits, None), False, {}
    )


class ShapeProp(Interpreter):
    """Fills ``node.meta["tensor_meta"]`` (TensorMetadata, nested as the value is) and ``node.meta["type"]``.

    >>> import ms_adapter.pytorch as torch
    >>> traced = torch.fx.symbolic_trace(lambda x: torch.flatten(x))
    >>> _ = ShapeProp(traced).propagate(torch.ones(2, 3))
    >>> [tuple(node.meta["tensor_meta"].shape) for node in traced.graph.nodes]
    [(2, 3), (6,), (6,)]
    """

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        self.fake_mode = fake_mode

    def run_node(self, n):
        """The node's value, with its metadata noted."""
        result = super().run_node(n)
        found = False

        def note(value):
            nonlocal found
            if isinstance(value, torch.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, note)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph on these inputs; returns its result."""
        return self.run(*args)
