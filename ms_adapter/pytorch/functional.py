"""The top-level functions that PyTorch writes in Python; those of one kind have a module of their own."""

from types import FunctionType as _FunctionType

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ._contraction import cdist, einsum, norm, tensordot
from ._control import cond, while_loop
from ._creation import from_file, range
from ._distinct import gradient, histogramdd, unique, unique_consecutive
from ._forms import (
    ctc_loss,
    dequantize,
    resize_as_,
    split,
    split_copy,
    split_with_sizes_copy,
    unbind_copy,
)
from ._lobpcg import lobpcg
from ._lowrank import lu, pca_lowrank, svd_lowrank
from ._overridable import overridable as _overridable
from ._stacking import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    block_diag,
    cartesian_prod,
    meshgrid,
    unravel_index,
)

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "cond",
    "ctc_loss",
    "dequantize",
    "einsum",
    "from_file",
    "gradient",
    "histogramdd",
    "lobpcg",
    "lu",
    "meshgrid",
    "nonzero",
    "norm",
    "pca_lowrank",
    "range",
    "resize_as_",
    "split",
    "split_copy",
    "split_with_sizes_copy",
    "svd_lowrank",
    "tensordot",
    "unbind_copy",
    "unique",
    "unique_consecutive",
    "unravel_index",
    "while_loop",
]


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to; RuntimeError when they do not fit.

    >>> import ms_adapter.pytorch as torch
    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    given = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
    result = [1] * max(map(len, given), default=0)
    for shape in given:
        for place, size in enumerate(shape, len(result) - len(shape)):
            if size < 0:
                raise RuntimeError(f"broadcast_shapes: sizes must not be negative, got {shape}")
            if size != 1 and result[place] not in (1, size):
                raise RuntimeError(
                    f"broadcast_shapes: shape mismatch: {', '.join(map(str, given))} cannot be broadcast to "
                    f"a single shape: dimension {place} is {result[place]} and {size}"
                )
            if size != 1:
                result[place] = size
    return torch.Size(result)


def broadcast_tensors(*tensors):
    """Views of the tensors (or of one list of them) expanded to the shape that they broadcast to.

    >>> import ms_adapter.pytorch as torch
    >>> a, b = torch.broadcast_tensors(torch.zeros(2, 1), torch.zeros(3))
    >>> a.shape, b.shape
    (torch.Size([2, 3]), torch.Size([2, 3]))
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = broadcast_shapes(*(tensor.shape for tensor in tensors))
    return tuple(tensor.expand(shape) for tensor in tensors)


def nonzero(input, *, out=None, as_tuple=False):
    """The places of the nonzero elements: an (n, dim) int64 tensor, or a tuple of one vector per dimension.

    >>> import ms_adapter.pytorch as torch
    >>> torch.nonzero(torch.tensor([[1, 0], [0, 2]]), as_tuple=True)
    (tensor([0, 1]), tensor([0, 1]))
    """
    rows = _C.functions["nonzero"]
    if not isinstance(as_tuple, bool):
        raise TypeError(f"nonzero(): argument 'as_tuple' must be bool, not {type(as_tuple).__name__}")
    if not as_tuple:
        return rows(input) if out is None else rows(input, out=out)
    return rows(input.unsqueeze(0) if input.dim() == 0 else input).unbind(1)


_overridable(vars(), [name for name in __all__ if isinstance(globals()[name], _FunctionType)])
