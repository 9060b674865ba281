"""`ms_adapter.pytorch.tensor`, a module that MSAdapter's scripts import from, beside the function of that
name."""

import sys
import types


class _TensorModule(types.ModuleType):
    """`Tensor`, `tensor`, and the casts to MindSpore's tensors and back."""

    def __getattr__(self, name):
        from ms_adapter import pytorch
        from ms_adapter.mindspore import mixing

        if name in ("Tensor", "tensor", "Parameter"):
            return getattr(pytorch.nn if name == "Parameter" else pytorch, name)
        if name in ("cast_to_ms_tensor", "cast_to_adapter_tensor"):
            return getattr(mixing, name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def install(package):
    """Makes it importable; put there by itself, it does not take the function's place in the package."""
    name = f"{package}.tensor"
    sys.modules[name] = _TensorModule(name, __doc__)
