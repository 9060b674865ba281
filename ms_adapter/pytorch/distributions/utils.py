"""What distributions share: broadcasting of parameters, logits and probabilities, lazy attributes."""

from functools import update_wrapper
from numbers import Number

import ms_adapter.pytorch as torch

from ..overrides import is_tensor_like

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]


def broadcast_all(*values):
    """Numbers and tensors as tensors of one shape; numbers take dtype and device of the first tensor.

    >>> import ms_adapter.pytorch as torch
    >>> [tuple(v.shape) for v in broadcast_all(0.0, torch.ones(2), torch.ones(3, 1))]
    [(3, 2), (3, 2), (3, 2)]
    """
    if not all(is_tensor_like(v) or isinstance(v, Number) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    options = {"dtype": torch.get_default_dtype()}
    for value in values:
        if isinstance(value, torch.Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    return torch.broadcast_tensors(*(v if is_tensor_like(v) else torch.tensor(v, **options) for v in values))


def _standard_normal(shape, dtype, device):
    return torch.empty(shape, dtype=dtype, device=device).normal_()


def _sum_rightmost(value, dim):
    """The sum over the last ``dim`` dimensions."""
    return value if dim == 0 else value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities from log-odds (``is_binary``) or from unnormalised log-probabilities on the last dim."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept off 0 and 1 by the dtype's precision."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Log-odds (``is_binary``) or log-probabilities from probabilities."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


class lazy_property:
    """An attribute computed at its first use, with recording on, and kept."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """A lazy property seen on the class: documentation tools take it for a property."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle of (..., n, n), up to diagonal ``diag``, row by row as vectors."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    places = torch.arange(n, device=mat.device)
    return mat[..., places < places.view(-1, 1) + (diag + 1)]


def vec_to_tril_matrix(vec, diag=0):
    """Matrices (..., n, n) whose lower triangles, up to diagonal ``diag``, hold the vectors row by row."""
    # n (n + 1 + 2 diag) / 2 elements, less the diag (diag + 1) / 2 that do not fit, make a triangle
    length = vec.shape[-1]
    n = (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * length + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {length} which cannot be expressed as the lower triangular part "
            "of a square D x D matrix."
        )
    n = round(n)
    places = torch.arange(n, device=vec.device)
    matrix = vec.new_zeros((*vec.shape[:-1], n, n))
    matrix[..., places < places.view(-1, 1) + (diag + 1)] = vec
    return matrix
