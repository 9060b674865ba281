"""torch._subclasses: tensors that have shapes and no data."""

from .fake_tensor import FakeTensor, FakeTensorMode, UnsupportedFakeTensorException

__all__ = ["FakeTensor", "FakeTensorMode", "UnsupportedFakeTensorException"]
