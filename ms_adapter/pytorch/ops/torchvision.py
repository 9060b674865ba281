"""torch.ops.torchvision: torchvision's C++ operators, which are rows of our registry.

torchvision's own library is built against PyTorch's C++. What it would bring is here already, so
``torch.ops.load_library`` takes it as loaded.
"""

import functools
import sys
import types

from ._overloads import OpOverloadPacket

_NAMESPACE = "torchvision"
# On quantized tensors, which ms_adapter does not have: named, as torchvision describes their shapes.
_QUANTIZED = (
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    "int rois_zero_point, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
)


class _Space(types.ModuleType):
    """A module whose operators are packets."""

    def __setattr__(self, name, value):
        plain = isinstance(value, (type, types.FunctionType, types.ModuleType, OpOverloadPacket))
        super().__setattr__(name, value if plain else OpOverloadPacket(_NAMESPACE, name, value))

    def __getattr__(self, name):
        from ._custom import packets

        found = packets.get((_NAMESPACE, name))
        if found is None:
            raise AttributeError(f"'_OpNamespace' '{_NAMESPACE}' object has no attribute '{name}'")
        return found


def is_row(name):
    """Whether the registry has the operator, so that it needs no kernels from elsewhere."""
    return isinstance(vars(sys.modules[__name__]).get(name), OpOverloadPacket)


def _cuda_version():
    """-1: built without CUDA."""
    return -1


@functools.cache
def provide():
    """Names what torchvision's library would bring beside the rows."""
    from ..library import Library

    library = Library(_NAMESPACE, "FRAGMENT")
    for schema in _QUANTIZED:
        library.define(schema)


sys.modules[__name__].__class__ = _Space
