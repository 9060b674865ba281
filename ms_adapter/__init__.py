"""ms_adapter: PyTorch's face on a C++ core of its own, with MindSpore as a device."""

__version__ = "0.1.0"
