"""Factorizations written over others: approximations of low rank by random projections, and torch.lu."""

import ms_adapter.pytorch as torch
from ms_adapter import _C

__all__ = ["lu", "pca_lowrank", "svd_lowrank"]


def lu(A, pivot=True, get_infos=False, out=None):
    """The compact LU factorization of matrices (..., m, n): `linalg.lu_factor` under its older name.

    Gives (LU, pivots), with `get_infos` also LAPACK's code for each matrix; a singular one raises nothing.
    RuntimeError for `pivot=False`, which the CPU does not have.

    >>> import ms_adapter.pytorch as torch
    >>> torch.lu(torch.tensor([[0.0, 2.0], [1.0, 3.0]]))[0]
    tensor([[1., 3.],
            [0., 2.]])
    """
    results = _C.functions["_lu_with_info"](A, pivot=pivot)
    kept = results if get_infos else tuple(results)[:2]
    if out is None:
        return kept
    if not isinstance(out, (tuple, list)) or len(out) != len(kept):
        raise TypeError(f"lu: out must be a tuple of {len(kept)} tensors, got {out!r}")
    for target, value in zip(out, kept):
        target.resize_as_(value).copy_(value)
    return out


def svd_lowrank(A, q=6, niter=2, M=None):
    """The singular value decomposition (U, S, V) of rank `q` that approximates the matrices `A - M`.

    `A` is (..., m, n), `M` broadcasts to it. `q` columns of random numbers and `niter` rounds of subspace
    iteration find the range (Halko, Martinsson & Tropp 2009, algorithms 4.4 and 5.1); let `q` be a little
    larger than the rank that matters.

    >>> import ms_adapter.pytorch as torch
    >>> A = torch.outer(torch.tensor([3.0, 4.0]), torch.tensor([0.0, 1.0, 0.0]))
    >>> torch.svd_lowrank(A, q=1)[1]
    tensor([5.])
    """
    q = 6 if q is None else q
    difference = A if M is None else A - M.expand(A.shape)
    wide = A.shape[-2] < A.shape[-1]
    tall = difference.mH if wide else difference
    basis = _range_basis(tall, q, 2 if niter is None else niter)
    left, values, right = torch.linalg.svd(basis.mH @ tall, full_matrices=False)
    U, V = basis @ left, right.mH
    return (V, values, U) if wide else (U, values, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The principal components (U, S, V) of the rows of `A` (..., m, n), from a low-rank approximation.

    `q` is at most 6 unless given; the columns' means are subtracted unless `center` is False. The columns of
    V are the principal directions. ValueError for a `q` outside 0..min(m, n) or a negative `niter`.

    >>> import ms_adapter.pytorch as torch
    >>> torch.pca_lowrank(torch.tensor([[1.0, 1.0], [3.0, 3.0], [5.0, 5.0]]), q=1)[1]
    tensor([4.])
    """
    least = min(A.shape[-2:])
    q = min(6, least) if q is None else q
    if not 0 <= q <= least:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={least}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if not center:
        return svd_lowrank(A, q, niter)
    return svd_lowrank(A - A.mean(-2, keepdim=True), q, niter)


def _range_basis(A, q, niter):
    """Orthonormal columns whose span is close to that of A's leading singular vectors."""
    draws = torch.randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    basis = torch.linalg.qr(A @ draws).Q
    for _ in range(niter):
        back = torch.linalg.qr(A.mH @ basis).Q
        basis = torch.linalg.qr(A @ back).Q
    return basis
