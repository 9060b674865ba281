"""torch._custom_ops: the older names of torch.library's functions."""

from .library import custom_op, impl_abstract  # noqa: F401
