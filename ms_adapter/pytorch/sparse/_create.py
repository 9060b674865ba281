"""Making sparse tensors of their parts, and of other tensors."""

import ms_adapter.pytorch as torch

from ._invariants import check_sparse_tensor_invariants

LAYOUT_NUMBERS = {
    getattr(torch, name): number  # the core's
    for number, name in enumerate(
        ("strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
    )
}
_BY_ROWS = (torch.sparse_csr, torch.sparse_bsr)
_BLOCKED = (torch.sparse_bsr, torch.sparse_bsc)


def _index(given, device, dtype=None):
    return torch.as_tensor(given, dtype=dtype, device=device)


def _as_values(given, dtype, device):
    values = given if isinstance(given, torch.Tensor) else torch.tensor(given)
    return values.to(device=device or values.device, dtype=dtype or values.dtype)


def _finished(made, requires_grad):
    return made.requires_grad_() if requires_grad else made


def _checks(asked):
    return check_sparse_tensor_invariants.is_enabled() if asked is None else asked


def _inferred_size(indices, values):
    if indices.dim() != 2:
        raise RuntimeError(f"indices must be sparse_dim x nnz, but got: {list(indices.shape)}")
    if indices.shape[1] == 0:
        return (*[0] * indices.shape[0], *values.shape[1:])
    for dim, least in enumerate(indices.min(1).values.tolist()):
        if least < 0:
            raise RuntimeError(f"found negative index {least} for dim {dim}")
    return (*[most + 1 for most in indices.max(1).values.tolist()], *values.shape[1:])


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """A tensor of which only some elements are kept: ``values`` (nnz, ...) at ``indices`` (ndim, nnz).

    Places may come in any order and more than once: their values are summed. Dimensions of ``values`` beyond
    the first are dense ones. Without ``size`` it is the smallest that holds the indices; with ``size`` alone
    the tensor is empty. Gradients flow to ``values``. Indices outside ``size`` raise RuntimeError.

    >>> import ms_adapter.pytorch as torch
    >>> torch.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3)).to_dense()
    tensor([[0., 0., 3.],
            [4., 0., 0.]])
    """
    if layout not in (None, torch.sparse_coo):
        raise RuntimeError(f"sparse_coo_tensor: expected layout torch.sparse_coo, got {layout}")
    if values is None:
        size = indices if size is None else size
        return _finished(_empty_coo(tuple(size), dtype, device), requires_grad)
    values = _as_values(values, dtype, device)
    indices = _index(indices, values.device, torch.int64)
    values = values.expand(1) if values.dim() == 0 else values
    size = _inferred_size(indices, values) if size is None else tuple(size)
    coalesced = bool(is_coalesced)
    torch._validate_sparse_coo_tensor_args(indices, values, size, coalesced)
    return _finished(torch._sparse_coo_tensor_unsafe(indices, values, size, coalesced), requires_grad)


def _empty_coo(size, dtype, device):
    indices = torch.empty((len(size), 0), dtype=torch.int64, device=device)
    values = torch.empty((0,), dtype=dtype, device=device)
    return torch._sparse_coo_tensor_unsafe(indices, values, size, True)


def _compressed_size(compressed, plain, values, layout):
    """The smallest size that holds the parts."""
    batch = compressed.dim() - 1
    block = tuple(values.shape[batch + 1 : batch + 3]) if layout in _BLOCKED else (1, 1)
    counted = compressed.shape[-1] - 1
    other = int(plain.max()) + 1 if plain.numel() else 0
    grid = (counted, other) if layout in _BY_ROWS else (other, counted)
    dense = values.shape[batch + 1 + (2 if layout in _BLOCKED else 0) :]
    return (*compressed.shape[:-1], grid[0] * block[0], grid[1] * block[1], *dense)


def sparse_compressed_tensor(
    compressed_indices,
    plain_indices,
    values,
    size=None,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
):
    """A matrix by rows (``layout`` sparse_csr, sparse_bsr) or columns (sparse_csc, sparse_bsc).

    ``compressed_indices`` (..., n + 1) says where each begins among ``plain_indices`` (..., nnz) and
    ``values`` (..., nnz, *block, ...). Without ``size`` it is the smallest that holds them. Gradients flow to
    ``values``. Parts that do not fit each other raise RuntimeError.

    >>> import ms_adapter.pytorch as torch
    >>> m = torch.sparse_compressed_tensor([0, 1, 2], [1, 0], [3.0, 4.0], (2, 2), layout=torch.sparse_csr)
    >>> m.to_dense()
    tensor([[0., 3.],
            [4., 0.]])
    """
    if LAYOUT_NUMBERS.get(layout, 0) < 2:
        raise RuntimeError(
            "sparse_compressed_tensor: expected layout to be one of sparse_csr, sparse_csc, sparse_bsr, "
            f"sparse_bsc, got {layout}"
        )
    values = _as_values(values, dtype, device)
    compressed, plain = (_index(given, values.device) for given in (compressed_indices, plain_indices))
    if size is None:
        size = _compressed_size(compressed, plain, values, layout)
    parts = (compressed, plain, values, tuple(size), LAYOUT_NUMBERS[layout])
    if _checks(check_invariants):
        torch._validate_sparse_compressed_tensor_args(*parts)
    return _finished(torch._sparse_compressed_tensor_unsafe(*parts), requires_grad)


def _one_layout(layout, first, second):
    """The constructor of one compressed layout, its indices under their own names."""

    def make(*args, **kwargs):
        for position, name in enumerate((first, second)):
            if name in kwargs:
                args = (*args[:position], kwargs.pop(name), *args[position:])
        if kwargs.setdefault("layout", layout) is not layout:
            raise RuntimeError(f"{make.__name__}: expected layout {layout}, got {kwargs['layout']}")
        return sparse_compressed_tensor(*args, **kwargs)

    make.__name__ = make.__qualname__ = f"{str(layout).removeprefix('torch.')}_tensor"
    make.__doc__ = (
        f"A tensor of layout ``{layout}`` of ``{first}``, ``{second}`` and ``values``; see\n"
        ":func:`sparse_compressed_tensor`, whose arguments follow."
    )
    return make


sparse_csr_tensor = _one_layout(torch.sparse_csr, "crow_indices", "col_indices")
sparse_csc_tensor = _one_layout(torch.sparse_csc, "ccol_indices", "row_indices")
sparse_bsr_tensor = _one_layout(torch.sparse_bsr, "crow_indices", "col_indices")
sparse_bsc_tensor = _one_layout(torch.sparse_bsc, "ccol_indices", "row_indices")


# ---- products whose result is sparse ---------------------------------------------------------------
def smm(input, mat):
    """The product of a sparse matrix and a dense one as a sparse tensor.

    >>> import ms_adapter.pytorch as torch
    >>> torch.smm(torch.eye(2).to_sparse(), torch.tensor([[0.0, 5.0], [0.0, 0.0]]))._nnz()
    1
    """
    return torch.sparse.mm(input, mat).to_sparse()


def hspmm(mat1, mat2):
    """The product of a sparse matrix and a dense one as a hybrid tensor: sparse rows, dense columns."""
    return torch.sparse.mm(mat1, mat2).to_sparse(1)


def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """``beta * input + alpha * (mat1 @ mat2)`` with a sparse ``input`` and ``mat1``, sparse."""
    return torch.add(input * beta, smm(mat1, mat2), alpha=alpha)


# ---- methods of Tensor -----------------------------------------------------------------------------
class SparseMethods:
    """What is attached to the type Tensor, under these names."""

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """A sparse tensor of the elements that are not zero, in ``layout`` (default COO).

        ``sparse_dim`` (COO) is how many leading dimensions are sparse, ``blocksize`` (BSR, BSC) the two sizes
        of a block, ``dense_dim`` how many trailing dimensions are dense. A tensor that has the layout is
        returned as it is.
        """
        if layout is None and blocksize is not None:
            raise RuntimeError("to_sparse: blocksize needs a layout: torch.sparse_bsr or torch.sparse_bsc")
        if isinstance(blocksize, int):
            blocksize = (blocksize, blocksize)
        number = LAYOUT_NUMBERS[layout or torch.sparse_coo]
        if blocksize is not None and layout not in _BLOCKED:
            raise RuntimeError(f"to_sparse: a tensor of layout {layout} has no blocks; leave out blocksize")
        return torch._as_layout(self, number, blocksize, dense_dim, sparse_dim)

    def to_sparse_coo(self):
        """In the COO layout."""
        return self.to_sparse()

    def to_sparse_csr(self, dense_dim=None):
        """In the CSR layout; dimensions before the matrix are batches, ``dense_dim`` behind it are dense."""
        return self.to_sparse(layout=torch.sparse_csr, dense_dim=dense_dim)

    def to_sparse_csc(self, dense_dim=None):
        """In the CSC layout; dimensions before the matrix are batches, ``dense_dim`` behind it are dense."""
        return self.to_sparse(layout=torch.sparse_csc, dense_dim=dense_dim)

    def to_sparse_bsr(self, blocksize, dense_dim=None):
        """In the BSR layout, of blocks of ``blocksize`` (two ints)."""
        return self.to_sparse(layout=torch.sparse_bsr, blocksize=blocksize, dense_dim=dense_dim)

    def to_sparse_bsc(self, blocksize, dense_dim=None):
        """In the BSC layout, of blocks of ``blocksize`` (two ints)."""
        return self.to_sparse(layout=torch.sparse_bsc, blocksize=blocksize, dense_dim=dense_dim)

    def smm(self, mat):
        """See :func:`torch.smm`."""
        return smm(self, mat)

    def sspaddmm(self, mat1, mat2, *, beta=1, alpha=1):
        """See :func:`torch.sspaddmm`."""
        return sspaddmm(self, mat1, mat2, beta=beta, alpha=alpha)
