"""The LKJ distribution of correlation matrices, as their Cholesky factors."""

import math

import ms_adapter.pytorch as torch

from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of ``dim`` x ``dim`` correlation matrices: density ``det ** (concentration - 1)``."""

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        # The squared distance of each row's other elements from 0 has a beta distribution (the onion method).
        marginal = self.concentration + 0.5 * (dim - 2)
        options = {"dtype": self.concentration.dtype, "device": self.concentration.device}
        offset = torch.cat([torch.zeros((1,), **options), torch.arange(dim - 1, **options)])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), torch.Size((dim, dim)), validate_args)

    def expand(self, batch_shape, _instance=None):
        new, batch_shape = self._get_checked_instance(LKJCholesky, _instance), torch.Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch_shape)
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        return self._finish_expanding(new, batch_shape, self.event_shape)

    def sample(self, sample_shape=()):
        squared = self._beta.sample(sample_shape).unsqueeze(-1)
        normal = torch.randn(self._extended_shape(sample_shape), dtype=squared.dtype, device=squared.device)
        normal = normal.tril(-1)
        direction = normal / normal.norm(dim=-1, keepdim=True)
        direction[..., 0, :].fill_(0.0)
        rows = torch.sqrt(squared) * direction
        tiny = torch.finfo(rows.dtype).tiny
        diagonal = torch.clamp(1 - torch.sum(rows**2, dim=-1), min=tiny).sqrt()
        return rows + torch.diag_embed(diagonal)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = torch.sum(order * diagonal.log(), dim=-1)
        less = self.dim - 1
        alpha = self.concentration + 0.5 * less
        normalizer = 0.5 * less * math.log(math.pi) + torch.mvlgamma(alpha - 0.5, less)
        return unnormalized - (normalizer - torch.lgamma(alpha) * less)
