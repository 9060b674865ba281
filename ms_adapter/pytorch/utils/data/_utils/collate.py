"""Making one batch of many samples, and tensors of what samples hold."""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import ms_adapter.pytorch as torch

from . import batches

__all__ = ["collate", "default_collate", "default_convert"]

_REFUSED = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def _is_numpy(value):
    return type(value).__module__ == "numpy"


def _holds_numbers(array):
    return array.dtype.kind not in "SUO"


def _like(original, change, rebuild):
    """A container like ``original``: a changed copy where it can be changed, else one built anew."""
    mutable = isinstance(original, (MutableMapping, MutableSequence))
    try:
        if mutable:
            clone = copy.copy(original)
            change(clone)
            return clone
        return type(original)(rebuild())
    except TypeError:
        return rebuild()


def _map_mapping(mapping, convert):
    new = {key: convert(key) for key in mapping}
    return _like(mapping, lambda clone: clone.update(new), lambda: new)


def _map_sequence(sequence, new):
    def change(clone):
        for i, value in enumerate(new):
            clone[i] = value

    return _like(sequence, change, lambda: new)


def default_convert(data):
    """Tensors in place of NumPy arrays and numbers, within containers too; the rest stays as it is."""
    if isinstance(data, (torch.Tensor, str, bytes)):
        return data
    if _is_numpy(data):
        return torch.as_tensor(data) if _holds_numbers(data) else data
    if isinstance(data, Mapping):
        return _map_mapping(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence):
        return _map_sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch, *, collate_fn_map=None):
    """One structure from many: leaves are collated by the functions in ``collate_fn_map``, by their type."""
    first = batch[0]
    functions = collate_fn_map or {}
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=collate_fn_map)
    for kind, function in functions.items():
        if isinstance(first, kind):
            return function(batch, collate_fn_map=collate_fn_map)

    def column(samples):
        return collate(samples, collate_fn_map=collate_fn_map)

    if isinstance(first, Mapping):
        return _map_mapping(first, lambda key: column([sample[key] for sample in batch]))
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(column(samples) for samples in zip(*batch, strict=False)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [column(samples) for samples in zip(*batch, strict=True)]
        return columns if isinstance(first, tuple) else _map_sequence(first, columns)
    raise TypeError(_REFUSED.format(type(first)))


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Tensors stacked along a new first dimension, in a worker in shared memory."""
    if batch[0].layout != torch.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; please provide "
            "a custom collate_fn to handle them appropriately."
        )
    out = None
    if type(batch[0]) is torch.Tensor and not batch[0].requires_grad:
        # In a worker the batch is built where the other process will read it.
        shape = (len(batch), *batch[0].shape)
        out = batches.room_for(shape, batch[0].dtype, len(batch) * batch[0].nbytes)
    return torch.stack(batch, 0) if out is None else torch.stack(batch, 0, out=out)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """NumPy arrays as one tensor; TypeError for texts and objects."""
    if not _holds_numbers(batch[0]):
        raise TypeError(_REFUSED.format(batch[0].dtype))
    if batch[0].shape == ():
        return torch.as_tensor(batch)
    return collate([torch.as_tensor(item) for item in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """NumPy numbers as a tensor."""
    return torch.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Floats as a float64 tensor."""
    return torch.tensor(batch, dtype=torch.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Ints or bools as a tensor."""
    return torch.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Texts as they are."""
    return batch


def _function_map():
    functions = {torch.Tensor: collate_tensor_fn}
    try:
        import numpy
    except ImportError:
        pass
    else:
        functions[numpy.ndarray] = collate_numpy_array_fn
        functions[(numpy.bool_, numpy.number, numpy.object_)] = collate_numpy_scalar_fn
    return {
        **functions,
        float: collate_float_fn,
        int: collate_int_fn,
        str: collate_str_fn,
        bytes: collate_str_fn,
    }


def default_collate(batch):
    """Stack the samples of a batch: tensors, arrays and numbers along a new first dimension, within
    containers too.

    >>> default_collate([{"x": 1}, {"x": 2}])
    {'x': tensor([1, 2])}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


default_collate_fn_map = _function_map()
