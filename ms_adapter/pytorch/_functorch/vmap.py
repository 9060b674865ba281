"""vmap: a function of one example becomes one of a batch; the core does the batching, this the trees."""

import functools

import ms_adapter.pytorch as torch
from ms_adapter import _C

from ..utils import _pytree as pytree
from ._shared import transformed

_native = _C.transforms
_RANDOMNESS = {"error": 0, "different": 1, "same": 2}


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """``func``, which takes one example, made to take a batch of them; no loop runs where none is needed.

    Args:
        func: takes tensors, or trees of them (dicts, lists, tuples), and returns such.
        in_dims: the batch dimension of each input: an int, or a tree like the inputs'; ``None`` for what
            all examples share.
        out_dims: where the batch dimension goes in the outputs.
        randomness: what random operators inside do: ``"error"`` raises, ``"different"`` draws for each
            example, ``"same"`` draws once for all.
        chunk_size: map that many examples at a time, to bound the memory.

    Raises:
        ValueError: batch sizes that differ, ``in_dims`` that does not fit the inputs, outputs that are no
            tensors.
        RuntimeError: a value read inside (``.item()``, ``if tensor:``): it differs by example.

    >>> import ms_adapter.pytorch as torch
    >>> torch.vmap(torch.dot)(torch.ones(2, 3), torch.tensor([[1.0, 2, 3], [4, 5, 6]]))
    tensor([ 6., 15.])
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def wrapped(*args, **kwargs):
        batch = _Batch(func, in_dims, args)
        if chunk_size is not None and chunk_size < batch.size:
            return _in_chunks(func, batch, out_dims, randomness, chunk_size, kwargs)
        return _run(func, batch, batch.leaves, batch.size, out_dims, randomness, kwargs)

    return wrapped


class _Batch:
    """The flattened inputs of a mapped call, with the batch dimension of each."""

    def __init__(self, func, in_dims, args):
        self.name = _name(func)
        self._check_in_dims(in_dims, args)
        self.leaves, self.spec = pytree.tree_flatten(args)
        dims = pytree._broadcast_to_and_flatten(in_dims, self.spec)
        if dims is None:
            raise ValueError(
                f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the "
                f"structure of `inputs`. in_dims has structure {pytree.tree_flatten(in_dims)[1]} but inputs "
                f"has structure {self.spec}."
            )
        self.dims = [
            self._checked_dim(leaf, dim, in_dims) for leaf, dim in zip(self.leaves, dims, strict=True)
        ]
        self.size = self._common_size()

    def _check_in_dims(self, in_dims, args):
        if not isinstance(in_dims, (int, tuple)):
            raise ValueError(
                f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a "
                f"(potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}."
            )
        if len(args) == 0:
            raise ValueError(
                f"vmap({self.name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are "
                "trying to vmap over a function with no inputs. The latter is unsupported."
            )

    def _checked_dim(self, leaf, dim, in_dims):
        where = f"vmap({self.name}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for an input"
        if dim is not None and not isinstance(dim, int):
            raise ValueError(f"{where} but in_dim must be either an integer dimension or None.")
        if isinstance(dim, int) and not isinstance(leaf, torch.Tensor):
            raise ValueError(
                f"{where} but the input is of type {type(leaf)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        if dim is not None and not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{where} but that input is a Tensor of dimensionality {leaf.dim()} so expected in_dim to "
                f"satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        return dim if dim is None or dim >= 0 else dim + leaf.dim()

    def _common_size(self):
        sizes = [leaf.size(dim) for leaf, dim in zip(self.leaves, self.dims, strict=True) if dim is not None]
        if not sizes:
            raise ValueError("vmap: Expected at least one Tensor to vmap over")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
                f"{sizes} for the mapped dimension"
            )
        return sizes[0]


def _name(func):
    return getattr(func, "__name__", None) or repr(func)


def _run(func, batch, leaves, size, out_dims, randomness, kwargs):
    level = _native.enter_vmap(size, _RANDOMNESS[randomness])
    try:
        seen = [
            leaf if dim is None else _native.batch(leaf, dim, level)
            for leaf, dim in zip(leaves, batch.dims, strict=True)
        ]
        outputs = transformed(func, *pytree.tree_unflatten(seen, batch.spec), **kwargs)
        return _unbatched(batch.name, outputs, out_dims, level, size)
    finally:
        _native.leave_vmap()


def _unbatched(name, outputs, out_dims, level, size):
    flat, spec = pytree.tree_flatten(outputs)
    for out in flat:
        if not isinstance(out, torch.Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you mean "
                "to set out_dims= to None for output?"
            )
    dims = pytree._broadcast_to_and_flatten(out_dims, spec)
    if isinstance(out_dims, tuple) and isinstance(outputs, torch.Tensor) and len(out_dims) == 1:
        dims = list(out_dims)
    if dims is None or not all(dim is None or isinstance(dim, int) for dim in dims):
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {pytree.tree_flatten(out_dims)[1]} but outputs has structure "
            f"{spec}."
        )
    return pytree.tree_unflatten(
        [_one_output(name, out, dim, level, size) for out, dim in zip(flat, dims, strict=True)], spec
    )


def _one_output(name, out, dim, level, size):
    value, at = _native.unbatch(out, level)
    if dim is None:
        if at is None:
            return value
        raise ValueError(
            f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None: give the "
            "dimension that the batch takes in this output"
        )
    rank = out.dim() + 1
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
        )
    dim %= rank
    if at is None:
        return value.unsqueeze(dim).expand(*value.shape[:dim], size, *value.shape[dim:])
    return value if at == dim else value.movedim(at, dim)


def _in_chunks(func, batch, out_dims, randomness, chunk_size, kwargs):
    """The batch in pieces; the generator runs on, so `same` draws once, for the first of them."""
    state, parts, spec = torch.get_rng_state(), [], None
    for start in range(0, batch.size, chunk_size):
        size = min(chunk_size, batch.size - start)
        leaves = [
            leaf if dim is None else leaf.narrow(dim, start, size)
            for leaf, dim in zip(batch.leaves, batch.dims, strict=True)
        ]
        if randomness == "same":
            torch.set_rng_state(state)
        flat, spec = pytree.tree_flatten(_run(func, batch, leaves, size, out_dims, randomness, kwargs))
        parts.append(flat)
    dims = pytree._broadcast_to_and_flatten(out_dims, spec) or list(out_dims)
    joined = [
        column[0] if dim is None else torch.cat(column, dim)
        for column, dim in zip(zip(*parts, strict=True), dims, strict=True)
    ]
    return pytree.tree_unflatten(joined, spec)
