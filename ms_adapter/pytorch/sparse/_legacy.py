"""``torch.sparse.FloatTensor`` and its siblings: the old constructors of COO tensors."""

import ms_adapter.pytorch as torch

from ._create import sparse_coo_tensor


class _LegacyType(type):
    """A type whose instances are the COO tensors of one dtype."""

    def __instancecheck__(cls, value):
        return isinstance(value, torch.Tensor) and value.is_sparse and value.dtype == cls.dtype

    def __call__(cls, *args):
        if all(isinstance(arg, int) for arg in args):
            return sparse_coo_tensor(size=args, dtype=cls.dtype)
        if len(args) == 1 and isinstance(args[0], torch.Size):
            return sparse_coo_tensor(size=args[0], dtype=cls.dtype)
        indices, values, *size = args
        return sparse_coo_tensor(indices, values, *size)


def legacy_types():
    """The types by name."""
    about = "COO tensors of {}: from sizes, or from indices, values and a size. New code: sparse_coo_tensor."
    return {
        name: _LegacyType(
            name, (), {"dtype": cls.dtype, "__doc__": about.format(cls.dtype), "__module__": "torch.sparse"}
        )
        for name, cls in torch.storage.tensor_classes().items()
        if name != "BoolTensor"  # PyTorch has none
    }
