"""Transforms that apply one transform to each part of a tensor."""

import ms_adapter.pytorch as torch

from . import constraints
from ._transform_base import Transform
from .utils import _sum_rightmost


def _check_transforms(tseq):
    if not all(isinstance(t, Transform) for t in tseq):
        raise AssertionError("All elements of tseq must be Transform instances")


class CatTransform(Transform):
    """Transforms of consecutive parts, of these ``lengths``, of dimension ``dim``."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        _check_transforms(tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.lengths)} lengths for {len(self.transforms)} transforms.")
        self.dim = dim

    @property
    def event_dim(self):
        """The largest of theirs."""
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self):
        """The size of the dimension."""
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, *tensors):
        """Each transform with its part of each of the tensors."""
        for tensor in tensors:
            if not -tensor.dim() <= self.dim < tensor.dim() or tensor.size(self.dim) != self.length:
                raise AssertionError(
                    f"CatTransform of size {self.length} along dim {self.dim} got {tuple(tensor.shape)}."
                )
        columns = (tensor.split(self.lengths, self.dim) for tensor in tensors)
        return zip(self.transforms, *columns, strict=True)

    def _call(self, x):
        return torch.cat([t(part) for t, part in self._parts(x)], dim=self.dim)

    def _inverse(self, y):
        return torch.cat([t.inv(part) for t, part in self._parts(y)], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for t, x_part, y_part in self._parts(x, y):
            term = t.log_abs_det_jacobian(x_part, y_part)
            if t.event_dim < self.event_dim:
                term = _sum_rightmost(term, self.event_dim - t.event_dim)
            terms.append(term)
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return torch.cat(terms, dim=dim) if dim < 0 else sum(terms)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Transforms of the places of dimension ``dim``."""

    def __init__(self, tseq, dim=0, cache_size=0):
        _check_transforms(tseq)
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return StackTransform(self.transforms, self.dim, cache_size)

    def _parts(self, *tensors):
        """Each transform with its place in each of the tensors."""
        for tensor in tensors:
            size = len(self.transforms)
            if not -tensor.dim() <= self.dim < tensor.dim() or tensor.size(self.dim) != size:
                raise AssertionError(
                    f"StackTransform of size {size} along dim {self.dim} got {tuple(tensor.shape)}."
                )
        return zip(self.transforms, *(tensor.unbind(self.dim) for tensor in tensors), strict=True)

    def _call(self, x):
        return torch.stack([t(part) for t, part in self._parts(x)], dim=self.dim)

    def _inverse(self, y):
        return torch.stack([t.inv(part) for t, part in self._parts(y)], dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = [t.log_abs_det_jacobian(x_part, y_part) for t, x_part, y_part in self._parts(x, y)]
        return torch.stack(terms, dim=self.dim)

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
