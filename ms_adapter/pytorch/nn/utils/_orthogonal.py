"""The parametrization that keeps a matrix orthogonal, by one of three maps."""

import ms_adapter.pytorch as torch

from ..modules.module import Module
from . import parametrize

__all__ = ["orthogonal"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(matrix, eps=None):
    """Whether columns (or rows, where there are fewer) are orthonormal up to rounding."""
    rows, cols = matrix.shape[-2:]
    if rows < cols:
        matrix, cols = matrix.mT, rows
    gram = matrix.mH @ matrix
    identity = torch.eye(cols, dtype=matrix.dtype, device=matrix.device)
    eps = 10 * cols * torch.finfo(matrix.dtype).eps if eps is None else eps
    return bool(torch.allclose(gram, identity, atol=eps))


def _any_orthogonal(matrix):
    """An orthogonal matrix near ``matrix``: its Q factor, with the sign that makes it unique."""
    q, r = torch.linalg.qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """A free matrix to an orthogonal one: ``base`` times the map of its lower triangle."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        rows, cols = x.shape[-2:]
        wide = rows < cols
        if wide:
            x, rows, cols = x.mT, cols, rows
        if self.orthogonal_map == "householder":
            q = self._reflections(x)
        else:
            q = self._rotation(x.tril(), rows, cols)[..., :cols]
        if hasattr(self, "base"):
            q = self.base @ q
        return q.mT if wide else q

    def _rotation(self, lower, rows, cols):
        """The orthogonal matrix of all rows that the skew-symmetric one below stands for."""
        if rows != cols:
            lower = torch.cat([lower, lower.new_zeros(*lower.shape[:-2], rows, rows - cols)], dim=-1)
        skew = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            return torch.linalg.matrix_exp(skew)
        identity = torch.eye(rows, dtype=skew.dtype, device=skew.device)
        return torch.linalg.solve(torch.add(identity, skew, alpha=-0.5), torch.add(identity, skew, alpha=0.5))

    @staticmethod
    def _reflections(x):
        lower = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (lower * lower).sum(dim=-2))
        q = torch.linalg.householder_product(lower, tau)
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @torch.autograd.no_grad()
    def right_inverse(self, q):
        """A free matrix (and ``base``) that gives ``q``."""
        if q.shape != self.shape:
            raise ValueError(f"Expected a matrix or batch of matrices of shape {self.shape}. Got {q.shape}.")
        wide = q.size(-2) < q.size(-1)
        if wide:
            q = q.mT
        if not hasattr(self, "base"):
            result = self._to_reflections(q)
        else:
            base = q if _is_orthogonal(q) else _any_orthogonal(q)
            if base.size(-2) != base.size(-1):
                base = self._completed(base)
            self.base = base.clone()
            result = torch.zeros_like(q)
            result.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # each of the maps makes the identity of it
        return result.mT if wide else result

    def _to_reflections(self, q):
        if self.orthogonal_map in ("matrix_exp", "cayley"):
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                "use_trivialization=False."
            )
        a, tau = torch.geqrf(q)
        signs = a.diagonal(dim1=-2, dim2=-1)
        signs.sign_()
        signs[tau == 0.0] *= -1  # no reflection there, but forward makes one
        return a

    @staticmethod
    def _completed(columns):
        """Orthonormal columns and more of them, drawn at random, up to a square matrix."""
        rows, cols = columns.shape[-2:]
        more = torch.randn(*columns.shape[:-2], rows, rows - cols, dtype=columns.dtype, device=columns.device)
        more = more - columns @ (columns.mH @ more)
        return torch.cat([columns, _any_orthogonal(more)], dim=-1)


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Keep a matrix (or batch of them) orthogonal: with orthonormal rows or columns, whichever are fewer.

    ``orthogonal_map`` is "matrix_exp", "cayley" or "householder"; default the first for square matrices, the
    last for others. With ``use_trivialization`` the matrix starts from its present value.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1) or weight.is_complex()
        orthogonal_map = "matrix_exp" if square else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module
