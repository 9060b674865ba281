"""Operators that PyTorch has in torch.ops.aten only: parts of exported graphs and of layers."""

import ms_adapter.pytorch as torch


def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """Raises RuntimeError where the only element is zero."""
    if not input:
        raise RuntimeError(assert_msg)


_assert_scalar = _assert_async


def _assert_tensor_metadata(a, size=None, stride=None, dtype=None, *, device=None, layout=None):
    """Raises RuntimeError where a tensor has another size, stride, dtype, device or layout than given."""
    wanted = {"size": size, "stride": stride, "dtype": dtype, "device": device, "layout": layout}
    found = {"size": a.size, "stride": a.stride, "dtype": a.dtype, "device": a.device, "layout": a.layout}
    for name, want in wanted.items():
        got = found[name]() if callable(found[name]) else found[name]
        if want is not None and got != (tuple(want) if name in ("size", "stride") else want):
            raise RuntimeError(f"_assert_tensor_metadata: the tensor's {name} is {got}, expected {want}.")


def sym_size(input, dim=None):
    """The size, of one dimension if given."""
    return input.size() if dim is None else input.size(dim)


def sym_stride(input, dim=None):
    """The strides, or the one of a dimension."""
    return input.stride() if dim is None else input.stride(dim)


def sym_numel(input):
    """The number of elements."""
    return input.numel()


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """Raises where a size is out of a range."""
    torch.sym_constrain_range_for_size(size, min=min, max=max)


def _local_scalar_dense(input):
    """The only element as a number."""
    return input.item()


def _unsafe_view(input, size):
    """``input.view(size)``, where nobody else looks at the input."""
    return input.view(size)


def alias(input):
    """A view of all of it."""
    return input.view(input.size())


def _convolution(
    input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark=False,
    deterministic=False, cudnn_enabled=True, allow_tf32=True,
):  # fmt: skip
    """``aten.convolution``; the last four choose between CUDA's kernels."""
    return torch.convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def convolution_backward(
    grad_output, input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups,
    output_mask,
):  # fmt: skip
    """The gradients of a convolution for its input, weight and bias: None where ``output_mask`` is False."""
    made = None if bias_sizes is None else grad_output.new_zeros(bias_sizes)
    leaves = [None if t is None else t.detach().requires_grad_() for t in (input, weight, made)]
    with torch.enable_grad():
        output = torch.convolution(*leaves, stride, padding, dilation, transposed, output_padding, groups)
    wanted = [leaf for leaf, asked in zip(leaves, output_mask, strict=True) if asked and leaf is not None]
    gradients = iter(torch.autograd.grad(output, wanted, grad_output) if wanted else ())
    return tuple(
        next(gradients) if asked and leaf is not None else None
        for leaf, asked in zip(leaves, output_mask, strict=True)
    )


def _scaled_dot_product_flash_attention(*args, **kwargs):
    """Raises NotImplementedError, as PyTorch does on cpu: CUDA's kernel alone has its further results."""
    raise NotImplementedError(
        "aten::_scaled_dot_product_flash_attention: a kernel of CUDA's; "
        "torch.nn.functional.scaled_dot_product_attention runs everywhere"
    )
