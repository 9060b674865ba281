"""Builds kernels in C++ against ``ms_adapter/kernel.h`` and loads them as operators.

The same functions are in ``torch.utils.cpp_extension``; docs/cpp_extension.md has a worked example.
"""

from ms_adapter.pytorch.utils.cpp_extension import (  # noqa: F401 - this module's names
    CppExtension,
    include_paths,
    load,
    load_inline,
    load_library,
)

__all__ = ["CppExtension", "include_paths", "load", "load_inline", "load_library"]
