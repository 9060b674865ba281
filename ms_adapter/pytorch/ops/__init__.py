"""torch.ops: operators by namespace; ``torch.ops.aten`` has ours, libraries of others cannot be loaded."""

from . import aten
from .aten import OpOverload, OpOverloadPacket

__all__ = ["aten", "load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()


def load_library(path):
    """Raises NotImplementedError: libraries built against PyTorch's C++ cannot be loaded."""
    raise NotImplementedError(
        f"torch.ops.load_library: {path} is built against PyTorch's C++ and cannot be loaded by ms_adapter; "
        "write the operator in Python, as a function of other operators or a torch.autograd.Function."
    )


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module 'torch.ops' has no attribute '{name}'")
    raise AttributeError(
        f"torch.ops.{name}: no custom operators are registered under '{name}'; torch.ops.aten has ours."
    )
