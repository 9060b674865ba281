"""Helpers that are ms_adapter's own: ``cpp_extension`` builds kernels in C++ and loads them."""
