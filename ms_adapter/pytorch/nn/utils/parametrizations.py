"""Ready-made parametrizations: weight norm, spectral norm, orthogonal matrices."""

import ms_adapter.pytorch as torch

from .. import functional as F
from ..modules.module import Module
from . import parametrize
from ._orthogonal import orthogonal
from .spectral_norm import default_dim, power_method
from .weight_norm import norm_except_dim, scaled

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """A tensor as its norms along all but one dimension times its direction."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g, weight_v):
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight):
        """The norms, and the tensor itself for its direction."""
        return norm_except_dim(weight, self.dim), weight


def weight_norm(module, name="weight", dim=0):
    """Learn the size and the direction of a weight apart: ``original0`` holds the norms, ``original1`` v.

    >>> import ms_adapter.pytorch as torch
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(20, 40))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([40, 1])
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict, prefix, *_rest):
        for i, old in enumerate(("g", "v")):
            if f"{prefix}{name}_g" in state_dict or f"{prefix}{name}_v" in state_dict:
                key = f"{prefix}{name}_{old}"
                if key in state_dict:
                    state_dict[f"{prefix}parametrizations.{name}.original{i}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    """A tensor over its largest singular value, which a power iteration follows."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        if not -weight.dim() <= dim < weight.dim():
            raise IndexError(
                f"spectral_norm: dim {dim} is out of range, expected -{weight.dim()} to {weight.dim() - 1}."
            )
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + weight.dim()
        self.eps = eps
        if weight.dim() > 1:
            self.n_power_iterations = n_power_iterations
            matrix = self._as_matrix(weight)
            u = matrix.new_empty(matrix.size(0)).normal_(0, 1)
            v = matrix.new_empty(matrix.size(1)).normal_(0, 1)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            power_method(matrix, self._u, self._v, 15, eps)

    def _as_matrix(self, weight):
        return weight.movedim(self.dim, 0).flatten(1)

    def forward(self, weight):
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = self._as_matrix(weight)
        if self.training:
            power_method(matrix, self._u, self._v, self.n_power_iterations, self.eps)
        # copies: the next call changes them in place, while this one's backward still needs them
        u, v = self._u.clone(), self._v.clone()
        return weight / torch.vdot(u, torch.mv(matrix, v))

    def right_inverse(self, value):
        """Taken as it is: it may have any size."""
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """Divide a weight by its largest singular value, estimated by ``n_power_iterations`` steps a call.

    ``dim`` holds the outputs; default 1 for transposed convolutions, else 0.

    >>> import ms_adapter.pytorch as torch
    >>> layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(20, 40))
    >>> layer.weight.shape
    torch.Size([40, 20])
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    dim = default_dim(module) if dim is None else dim
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return parametrize.register_parametrization(module, name, made)
