"""Pooling that always returns the indices: what the pooling functions are when ``return_indices`` is true."""

import ms_adapter.pytorch as torch


def _with_indices(pool):
    def with_indices(*args, **kwargs):
        kwargs.pop("return_indices", None)
        return getattr(torch.nn.functional, pool)(*args, return_indices=True, **kwargs)

    with_indices.__name__ = with_indices.__qualname__ = f"{pool}_with_indices"
    with_indices.__doc__ = f"``{pool}`` with ``return_indices=True``: the largest elements and their places."
    return with_indices


adaptive_max_pool1d_with_indices = _with_indices("adaptive_max_pool1d")
adaptive_max_pool2d_with_indices = _with_indices("adaptive_max_pool2d")
adaptive_max_pool3d_with_indices = _with_indices("adaptive_max_pool3d")
fractional_max_pool2d_with_indices = _with_indices("fractional_max_pool2d")
fractional_max_pool3d_with_indices = _with_indices("fractional_max_pool3d")
max_pool1d_with_indices = _with_indices("max_pool1d")
max_pool2d_with_indices = _with_indices("max_pool2d")
max_pool3d_with_indices = _with_indices("max_pool3d")
