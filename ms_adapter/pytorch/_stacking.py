"""Functions of any number of tensors, or of one list of them: dimensions added, grids, blocks, products."""

import warnings

import ms_adapter.pytorch as torch

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "cartesian_prod",
    "meshgrid",
    "unravel_index",
]


def _listed(tensors):
    """The tensors of ``f(a, b)`` and of ``f([a, b])``."""
    return tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors


def _each(name, tensors, function):
    if len(tensors) == 1 and isinstance(tensors[0], torch.Tensor):
        return function(tensors[0])
    tensors = _listed(tensors)
    for tensor in tensors:
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name}: expected tensors or one sequence of them, got {type(tensor).__name__}")
    return tuple(function(tensor) for tensor in tensors)


def atleast_1d(*tensors):
    """A 0-d tensor as a vector, others as they are; several give a tuple.

    >>> import ms_adapter.pytorch as torch
    >>> torch.atleast_1d(torch.tensor(2.0))
    tensor([2.])
    """
    return _each("atleast_1d", tensors, lambda t: t.reshape(1) if t.dim() == 0 else t)


def atleast_2d(*tensors):
    """With dimensions of size 1 in front up to two; several give a tuple.

    >>> import ms_adapter.pytorch as torch
    >>> torch.atleast_2d(torch.zeros(3)).shape
    torch.Size([1, 3])
    """
    return _each("atleast_2d", tensors, _two_dims)


def _two_dims(tensor):
    return tensor if tensor.dim() >= 2 else atleast_1d(tensor).unsqueeze(0)


def atleast_3d(*tensors):
    """Vectors as (1, n, 1), matrices as (n, m, 1); several give a tuple.

    >>> import ms_adapter.pytorch as torch
    >>> torch.atleast_3d(torch.zeros(3)).shape
    torch.Size([1, 3, 1])
    """
    return _each("atleast_3d", tensors, lambda t: t if t.dim() >= 3 else _two_dims(t).unsqueeze(-1))


def block_diag(*tensors):
    """A matrix with the tensors (2-d at most) as blocks on its diagonal, zeros elsewhere.

    >>> import ms_adapter.pytorch as torch
    >>> torch.block_diag(torch.ones(1, 2), torch.tensor(5.0))
    tensor([[1., 1., 0.],
            [0., 0., 5.]])
    """
    for place, tensor in enumerate(tensors):
        if tensor.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {place} has "
                f"{tensor.dim()} dimensions"
            )
    blocks = [_two_dims(tensor) for tensor in tensors] or [torch.empty(1, 0)]
    dtype = blocks[0].dtype
    for block in blocks:
        dtype = torch.promote_types(dtype, block.dtype)
    columns, before, rows = sum(block.shape[1] for block in blocks), 0, []
    for block in blocks:
        after = columns - before - block.shape[1]
        rows.append(torch.constant_pad_nd(block.to(dtype), [before, after]))
        before += block.shape[1]
    return torch.cat(rows)


def cartesian_prod(*tensors):
    """Every choice of one element from each vector, a choice a row; of one vector itself.

    >>> import ms_adapter.pytorch as torch
    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for tensor in tensors:
        if tensor.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(tensor.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    return torch.stack([grid.flatten() for grid in meshgrid(*tensors, indexing="ij")], dim=1)


def meshgrid(*tensors, indexing=None):
    """Vectors (0-d: one element) expanded to a common grid, each along its own dimension.

    ``indexing="xy"`` exchanges the first two dimensions; "ij" does not and is the default.

    >>> import ms_adapter.pytorch as torch
    >>> x, y = torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4, 5]), indexing="ij")
    >>> x.shape, y[0]
    (torch.Size([2, 3]), tensor([3, 4, 5]))
    """
    tensors = list(_listed(tensors))
    if indexing is None:
        warnings.warn(
            "torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.",
            stacklevel=2,
        )
    if indexing not in (None, "ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for tensor in tensors:
        if tensor.dim() > 1:
            raise RuntimeError(
                f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {tensor.shape}"
            )
        if tensor.dtype != tensors[0].dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    swapped = indexing == "xy" and len(tensors) >= 2
    if swapped:
        tensors[:2] = tensors[1::-1]
    shape = [tensor.numel() for tensor in tensors]
    grids = [
        tensor.reshape([-1 if d == place else 1 for d in range(len(shape))]).expand(shape)
        for place, tensor in enumerate(tensors)
    ]
    if swapped:
        grids[:2] = grids[1::-1]
    return tuple(grids)


def unravel_index(indices, shape):
    """The coordinates in ``shape`` of flat ``indices`` (integers): one tensor for each dimension.

    >>> import ms_adapter.pytorch as torch
    >>> torch.unravel_index(torch.tensor([4, 1]), (2, 3))
    (tensor([1, 0]), tensor([1, 1]))
    """
    if not isinstance(indices, torch.Tensor) or indices.is_floating_point() or indices.is_complex():
        raise ValueError(
            f"expected 'indices' to be an integer tensor, but got {getattr(indices, 'dtype', type(indices))}"
        )
    if indices.dtype == torch.bool:
        raise ValueError("expected 'indices' to be integer, but got torch.bool")
    sizes = [shape] if isinstance(shape, int) else [int(size) for size in shape]
    if any(size < 0 for size in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(sizes)}")
    coordinates, indices = [], indices.long()
    for size in reversed(sizes):
        coordinates.insert(0, torch.remainder(indices, size))
        indices = torch.floor_divide(indices, size)
    return tuple(coordinates)
