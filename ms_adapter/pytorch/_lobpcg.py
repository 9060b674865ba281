"""torch.lobpcg: some extreme eigenpairs of large symmetric matrices, by an iteration that only multiplies."""

import math

import ms_adapter.pytorch as torch

__all__ = ["lobpcg"]

_STEP = {"float32": 2.0**-23, "float64": 2.0**-52}  # of 1.0 to the next number


def lobpcg(
    A,
    k=None,
    B=None,
    X=None,
    n=None,
    iK=None,
    niter=None,
    tol=None,
    largest=None,
    method=None,
    tracker=None,
    ortho_iparams=None,
    ortho_fparams=None,
    ortho_bparams=None,
):
    """The `k` largest (or smallest) eigenvalues and eigenvectors of A x = e B x, by Knyazev's LOBPCG (2001).

    `A` (..., m, m) is symmetric, `B` symmetric positive-definite (the identity unless given), `X` the first
    guess (..., m, n), random unless given, `iK` a preconditioner. It ends when each residual is below `tol`
    (the root of the dtype's precision), or after `niter` rounds (1000). Both methods, "basic" and "ortho",
    run the same iteration here, on an orthonormal basis. Gives (E, X): E (..., k) from the most extreme
    inwards, X (..., m, k). Gradients are those of A and need B to be None; they solve with dense matrices.

    ValueError for m < 3 n or an unknown method; NotImplementedError for a `tracker`.

    >>> import ms_adapter.pytorch as torch
    >>> torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), k=1)[0]
    tensor([9.0000])
    """
    if tracker is not None:
        raise NotImplementedError("lobpcg: tracker is not supported; run few rounds (niter) and look at them")
    if method not in (None, "basic", "ortho"):
        raise ValueError(f"lobpcg: method must be 'basic' or 'ortho', got {method!r}")
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"lobpcg: A must be square matrices, got the shape {tuple(A.shape)}")
    m = A.shape[-1]
    n = n if n is not None else X.shape[-1] if X is not None else 1 if k is None else k
    k = n if k is None else k
    if m < 3 * n:
        raise ValueError(
            f"lobpcg: A's {m} rows are fewer than three times the {n} eigenpairs that are iterated: "
            "use torch.linalg.eigh"
        )
    if not 1 <= k <= n:
        raise ValueError(f"lobpcg: k must lie in 1..{n} (the columns of X), got {k}")
    limits = (
        1000 if niter is None or niter < 0 else niter,
        _STEP[str(A.dtype).rpartition(".")[2]] ** 0.5 if tol is None else tol,
    )
    X = torch.randn(*A.shape[:-1], n, dtype=A.dtype, device=A.device) if X is None else X
    options = (B, X, iK, k, True if largest is None else largest, limits)
    if torch.is_grad_enabled() and (A.requires_grad or (B is not None and B.requires_grad)):
        if B is not None:
            raise ValueError("lobpcg: gradients need B to be None; transform A by B's Cholesky factor first")
        return _Differentiable.apply((A + A.mT) / 2, options)
    with torch.no_grad():
        return _each_matrix(A, *options)


def _each_matrix(A, B, X, iK, k, largest, limits):
    """The iteration for every matrix of a batch."""
    if A.dim() == 2:
        return _iterate(A, B, X, iK, k, largest, *limits)
    batch, m = A.shape[:-2], A.shape[-1]

    def pick(t, i):
        return None if t is None else t.expand(*batch, *t.shape[-2:]).reshape(-1, *t.shape[-2:])[i]

    pairs = [
        _iterate(pick(A, i), pick(B, i), pick(X, i), pick(iK, i), k, largest, *limits)
        for i in range(math.prod(batch))
    ]
    values, vectors = (torch.stack(parts) for parts in zip(*pairs))
    return values.reshape(*batch, k), vectors.reshape(*batch, m, k)


def _iterate(A, B, X, iK, k, largest, rounds, tol):
    """One matrix: Rayleigh-Ritz on the span of the vectors, their residuals and the last step."""
    times_b = (lambda v: v) if B is None else (lambda v: B @ v)
    n, step, scale = X.shape[-1], None, A.abs().sum(-1).max()
    values, X, _ = _ritz(A, times_b, _orthonormal(times_b, X), n, largest)
    for _ in range(rounds):
        residual = A @ X - times_b(X) * values
        size = residual.norm(dim=0) / ((scale + values.abs()) * X.norm(dim=0))
        if bool((size[:k] <= tol).all()):
            break
        ahead = residual if iK is None else iK @ residual
        directions = ahead if step is None else torch.cat([ahead, step], 1)
        # Twice: one projection leaves as much of X as rounding lost.
        for _ in range(2):
            directions = directions - X @ (times_b(X).mT @ directions)
            directions = _orthonormal(times_b, directions)
        before, basis = X, torch.cat([X, directions], 1)
        values, X, mix = _ritz(A, times_b, basis, n, largest)
        step = X - before @ mix[:n]
    return values[:k], X[:, :k]


def _ritz(A, times_b, basis, n, largest):
    """The best n eigenpairs within the span of an orthonormal basis, and their coordinates there."""
    values, mix = torch.linalg.eigh(basis.mT @ (A @ basis))
    values, mix = (values.flip(-1), mix.flip(-1)) if largest else (values, mix)
    values, mix = values[:n], mix[:, :n]
    return values, basis @ mix, mix


def _orthonormal(times_b, vectors):
    """An orthonormal basis (as B measures) of the columns' span; what depends on others falls away."""
    vectors = vectors / vectors.norm(dim=0).clamp_min(torch.finfo(vectors.dtype).tiny)
    values, turn = torch.linalg.eigh(vectors.mT @ times_b(vectors))
    kept = values > values[-1] * vectors.shape[0] * torch.finfo(vectors.dtype).eps
    return vectors @ (turn[:, kept] / values[kept].sqrt())


class _Differentiable(torch.autograd.Function):
    """Eigenpairs whose gradient is that of the exact ones."""

    @staticmethod
    def forward(ctx, A, options):
        values, vectors = _each_matrix(A, *options)
        ctx.save_for_backward(A, values, vectors)
        return values, vectors

    @staticmethod
    def backward(ctx, grad_values, grad_vectors):
        A, values, X = ctx.saved_tensors
        inside = X.mT @ grad_vectors
        gaps = values.unsqueeze(-2) - values.unsqueeze(-1)
        same = torch.eye(gaps.shape[-1], dtype=torch.bool, device=A.device)
        middle = torch.where(same, torch.diag_embed(grad_values), inside / gaps.masked_fill(same, 1))
        # Across the eigenvectors that were not computed: (A - e I)^-1 on their span.
        projector = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device) - X @ X.mT
        outside = (projector @ grad_vectors).mT.unsqueeze(-1)
        shifts = values.unsqueeze(-1).unsqueeze(-1)
        within = projector @ A @ projector + X @ X.mT
        systems = within.unsqueeze(-3) - shifts * projector.unsqueeze(-3)
        solved = torch.linalg.solve(systems, outside).squeeze(-1).mT
        return X @ middle @ X.mT - solved @ X.mT, None
