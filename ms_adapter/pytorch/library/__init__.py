"""torch.library: operators of one's own, which modes, classes and transforms take as they take ours."""

from ._custom_op import (
    CustomOpDef,
    custom_op,
    get_ctx,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
)
from ._define import Library, define, fallthrough_kernel, impl
from ._infer import infer_schema
from ._opcheck import opcheck

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]


def triton_op(name, fn=None, /, *, mutates_args, schema=None):
    """Raises NotImplementedError: there is no Triton."""
    raise NotImplementedError(
        f"torch.library.triton_op: {name} is a Triton kernel, which ms_adapter does not run. Write it in "
        "Python with torch.library.custom_op, or in C++ (docs/cpp_extension.md)."
    )


def wrap_triton(triton_kernel, /):
    """Raises NotImplementedError: there is no Triton."""
    return triton_op("wrap_triton", mutates_args=())
