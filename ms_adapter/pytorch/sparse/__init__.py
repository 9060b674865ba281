"""torch.sparse: operators on sparse tensors; how they are kept is in docs/sparse.md."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ._create import LAYOUT_NUMBERS
from ._gradcheck import as_sparse_gradcheck
from ._invariants import check_sparse_tensor_invariants
from ._legacy import legacy_types

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]

addmm, log_softmax, mm, sampled_addmm, softmax = (
    _C.functions[f"sparse.{name}"] for name in ("addmm", "log_softmax", "mm", "sampled_addmm", "softmax")
)
globals().update(legacy_types())


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor: over all elements a 0-d tensor, over ``dim`` (an int or several) a tensor
    that stays sparse while one of its sparse dimensions is left.

    Gradients have the places of ``input``.

    >>> import ms_adapter.pytorch as torch
    >>> s = torch.tensor([[0.0, 2.0], [3.0, 4.0]]).to_sparse()
    >>> torch.sparse.sum(s)
    tensor(9.)
    >>> torch.sparse.sum(s, 0).to_dense()
    tensor([3., 6.])
    """
    return torch._sparse_sum(input, dim, dtype=dtype)


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix of ``shape`` with the rows of ``diagonals`` (n, m) on the diagonals ``offsets`` (n,).

    Column j of a row stands in column j of the matrix; what falls outside is left out. ``layout`` is
    ``torch.sparse_coo`` (the default), ``torch.sparse_csr`` or ``torch.sparse_csc``.

    >>> import ms_adapter.pytorch as torch
    >>> torch.sparse.spdiags(torch.tensor([[1.0, 2.0]]), torch.tensor([1]), (2, 2)).to_dense()
    tensor([[0., 2.],
            [0., 0.]])
    """
    diagonals = torch.atleast_2d(diagonals)
    offsets = torch.atleast_1d(offsets)
    if offsets.dim() != 1 or diagonals.dim() != 2 or len(shape) != 2:
        raise RuntimeError(
            "spdiags: diagonals must be a matrix, offsets a vector and shape two ints, got shapes "
            f"{tuple(diagonals.shape)}, {tuple(offsets.shape)} and {tuple(shape)}"
        )
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"spdiags: the number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.shape[0]})"
        )
    if len(set(offsets.tolist())) != offsets.numel():
        raise RuntimeError("spdiags: offset tensor contains duplicate values")
    if layout not in (None, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc):
        raise RuntimeError("spdiags: only output layouts (sparse_coo, sparse_csc, sparse_csr) are supported")
    columns = torch.arange(min(diagonals.shape[1], shape[1]), device=offsets.device).expand(len(offsets), -1)
    rows = columns - offsets.unsqueeze(1)
    kept = (rows >= 0) & (rows < shape[0])
    places = torch.stack([rows[kept], columns[kept]])
    made = torch._sparse_coo_tensor_unsafe(places, diagonals[:, : columns.shape[1]][kept], shape)
    return made if layout in (None, torch.sparse_coo) else torch._as_layout(made, LAYOUT_NUMBERS[layout])


def spsolve(input, other, *, left=True):
    """Not supported: raises NotImplementedError, as PyTorch's does on the CPU."""
    raise NotImplementedError(
        "torch.sparse.spsolve: there is no sparse solver on the CPU; use "
        "torch.linalg.solve(input.to_dense(), other)"
    )
