"""torch._custom_ops: the older names of torch.library's functions."""

from .library import custom_op, impl_abstract, register_kernel as impl  # noqa: F401
