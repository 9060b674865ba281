"""gradcheck for functions of sparse tensors: it sees their values."""

import functools

import ms_adapter.pytorch as torch

from ._create import LAYOUT_NUMBERS


def _parts(tensor):
    """What ``_again`` needs beside the values."""
    if tensor.layout == torch.sparse_coo:
        return tensor, (tensor.indices(),)
    by_rows = tensor.layout in (torch.sparse_csr, torch.sparse_bsr)
    names = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")
    return tensor, tuple(getattr(tensor, name)() for name in names)


def _again(parts, values):
    tensor, indices = parts
    if tensor.layout == torch.sparse_coo:
        return torch._sparse_coo_tensor_unsafe(*indices, values, tensor.shape, True)
    number = LAYOUT_NUMBERS[tensor.layout]
    return torch._sparse_compressed_tensor_unsafe(*indices, values, tensor.shape, number)


def _all_named(tensor):
    """The tensor with every element kept, zeros too, in its layout."""
    blocked = tensor.layout in (torch.sparse_bsr, torch.sparse_bsc)
    block = tuple(tensor.values().shape[1:3]) if blocked else None
    full = torch.ones(tensor.shape, dtype=tensor.dtype)
    if tensor.layout == torch.sparse_coo:
        full = full.to_sparse(tensor.sparse_dim())
    else:
        full = full.to_sparse(layout=tensor.layout, blocksize=block, dense_dim=tensor.dense_dim())
    return tensor.to_dense().sparse_mask(full)


def as_sparse_gradcheck(gradcheck):
    """``gradcheck`` for functions that take or give sparse tensors.

    With ``masked=True`` only the elements that a sparse input names are varied, else (the default) all.

    >>> import ms_adapter.pytorch as torch
    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> s = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda s: s * 2, (s,), masked=True)
    True
    """

    @functools.wraps(gradcheck)
    def checked(func, inputs, **kwargs):
        masked = kwargs.pop("masked", False)
        inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
        kept, plain = {}, []
        for place, value in enumerate(inputs):
            if isinstance(value, torch.Tensor) and value.layout != torch.strided and value.requires_grad:
                value = value.detach()
                value = value.coalesce() if value.layout == torch.sparse_coo else value
                value = value if masked else _all_named(value)
                kept[place] = _parts(value)
                value = value.values().detach().clone().requires_grad_()
            plain.append(value)

        def of_values(*args):
            given = [_again(kept[i], arg) if i in kept else arg for i, arg in enumerate(args)]
            results = func(*given)
            many = isinstance(results, (tuple, list))
            dense = [
                r.to_dense(masked_grad=masked) if isinstance(r, torch.Tensor) else r
                for r in (results if many else [results])
            ]
            return tuple(dense) if many else dense[0]

        return gradcheck(of_values, tuple(plain), **kwargs)

    return checked
