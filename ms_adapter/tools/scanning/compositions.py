"""What some names that ms_adapter lacks are made of: each function does what PyTorch's of that name does.

`ms-adapter scan` shows the source of these functions for a program to take over, so each stands alone. A
quantized tensor is written as its integers here, with scale and zero point beside it.
tests/test_scan_strategies.py compares them with PyTorch.
"""

from __future__ import annotations

import inspect
import sys

import ms_adapter.pytorch as torch


def code(function: str) -> str:
    """The source of one of the functions below."""
    return inspect.getsource(vars(sys.modules[__name__])[function])


# --- parts of libraries' kernels ------------------------------------------------------------------------
def cudnn_convolution_relu(self, weight, bias, stride, padding, dilation, groups):
    none = [0] * len(padding)
    return torch.convolution(self, weight, bias, stride, padding, dilation, False, none, groups).relu()


def cudnn_convolution_add_relu(self, weight, z, alpha, bias, stride, padding, dilation, groups):
    none = [0] * len(padding)
    product = torch.convolution(self, weight, bias, stride, padding, dilation, False, none, groups)
    return torch.add(product, z, alpha=1 if alpha is None else alpha).relu()


def mkldnn_convolution(self, weight, bias, padding, stride, dilation, groups):
    none = [0] * len(padding)
    return torch.convolution(self, weight, bias, stride, padding, dilation, False, none, groups)


def mkldnn_linear_backward_weights(grad_output, input, weight, bias_defined):
    grad, rows = grad_output.flatten(0, -2), input.flatten(0, -2)
    return grad.t() @ rows, grad.sum(0) if bias_defined else None


# --- synchronized batch norm ----------------------------------------------------------------------------
def batch_norm_stats(input, eps):
    dims = [d for d in range(input.dim()) if d != 1]
    var, mean = torch.var_mean(input, dims, correction=0)
    return mean, torch.rsqrt(var + eps)


def batch_norm_elemt(input, weight, bias, mean, invstd, eps):
    shape = [1, -1] + [1] * (input.dim() - 2)
    scale = invstd if weight is None else invstd * weight
    result = (input - mean.view(shape)) * scale.view(shape)
    return result if bias is None else result + bias.view(shape)


def batch_norm_update_stats(input, running_mean, running_var, momentum):
    dims = [d for d in range(input.dim()) if d != 1]
    var, mean = torch.var_mean(input, dims, correction=0)
    count = input.numel() // input.shape[1]
    if running_mean is not None:
        running_mean.lerp_(mean, momentum)
    if running_var is not None:
        running_var.lerp_(var * (count / (count - 1)), momentum)
    return mean, var


def batch_norm_gather_stats_with_counts(
    input, mean, invstd, running_mean, running_var, momentum, eps, counts
):
    """Row i of mean and invstd is the i-th process's, which saw counts[i] values of each channel."""
    weight = (counts / counts.sum()).view(-1, 1)
    joint = (mean * weight).sum(0)
    var = ((1 / invstd**2 - eps + (mean - joint) ** 2) * weight).sum(0)
    if running_mean is not None:
        running_mean.lerp_(joint, momentum)
    if running_var is not None:
        running_var.lerp_(var * (counts.sum() / (counts.sum() - 1)), momentum)
    return joint, torch.rsqrt(var + eps)


def batch_norm_backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    dims = [d for d in range(input.dim()) if d != 1]
    shape = [1, -1] + [1] * (input.dim() - 2)
    sum_dy = grad_out.sum(dims)
    sum_dy_xmu = (grad_out * (input - mean.view(shape))).sum(dims)
    grads = (sum_dy_xmu * invstd if weight_g else None, sum_dy if bias_g else None)
    return (sum_dy if input_g else None, sum_dy_xmu if input_g else None, *grads)


def batch_norm_backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    shape = [1, -1] + [1] * (input.dim() - 2)
    total = count.sum()
    scale = invstd if weight is None else invstd * weight
    slope = (sum_dy_xmu * invstd**2 / total).view(shape)
    centred = grad_out - (sum_dy / total).view(shape) - (input - mean.view(shape)) * slope
    return centred * scale.view(shape)


# --- quantization: integers, with scale and zero point beside them --------------------------------------
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    scaled = input / scale + zero_point
    rounded = scaled + (torch.round(input / scale) + zero_point - scaled).detach()  # its gradient is 1
    return (rounded.clamp(quant_min, quant_max) - zero_point) * scale


def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    shape = [-1 if d == axis else 1 for d in range(input.dim())]
    scale, zero_point = scale.view(shape), zero_point.view(shape)
    scaled = input / scale + zero_point
    rounded = scaled + (torch.round(input / scale) + zero_point - scaled).detach()  # its gradient is 1
    return (rounded.clamp(quant_min, quant_max) - zero_point) * scale


def quantize_per_tensor(input, scale, zero_point, dtype=torch.uint8):
    limits = torch.iinfo(dtype)
    return (torch.round(input / scale) + zero_point).clamp(limits.min, limits.max).to(dtype)


def quantize_per_channel(input, scales, zero_points, axis, dtype=torch.int8):
    limits = torch.iinfo(dtype)
    shape = [-1 if d == axis else 1 for d in range(input.dim())]
    integers = torch.round(input / scales.view(shape)) + zero_points.view(shape)
    return integers.clamp(limits.min, limits.max).to(dtype)


def quantize_per_tensor_dynamic(input, dtype=torch.uint8, reduce_range=False):
    """The integers, the scale and the zero point."""
    limits = torch.iinfo(dtype)
    low, high = (limits.min // 2, limits.max // 2) if reduce_range else (limits.min, limits.max)
    least, most = min(input.min().item(), 0.0), max(input.max().item(), 0.0)
    scale = (most - least) / (high - low) or 0.1
    zero_point = max(low, min(high, round(low - least / scale)))
    return (torch.round(input / scale) + zero_point).clamp(low, high).to(dtype), scale, zero_point


def quantized_batch_norm(
    integers, scale, zero_point, weight, bias, mean, var, eps, output_scale, output_zero_point
):
    real = (integers.float() - zero_point) * scale
    result = torch.nn.functional.batch_norm(real, mean, var, weight, bias, False, 0.0, eps)
    limits = torch.iinfo(integers.dtype)
    moved = torch.round(result / output_scale) + output_zero_point
    return moved.clamp(limits.min, limits.max).to(integers.dtype)


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Rows of mat_a up to each offset by the matrix of that group; three dimensions and no offsets: bmm."""
    if offs is None:
        return torch.bmm(mat_a, mat_b).to(out_dtype or mat_a.dtype)
    ends = offs.tolist()
    pieces = zip([0, *ends], ends, mat_b)
    products = [mat_a[start:end] @ matrix for start, end, matrix in pieces]
    return torch.cat(products).to(out_dtype or mat_a.dtype)


# --- sparse tensors -------------------------------------------------------------------------------------
def resize_as_sparse_(self, the_template):
    return self.sparse_resize_(the_template.shape, the_template.sparse_dim(), the_template.dense_dim())


def spsolve(input, other):
    return torch.linalg.solve(input.to_dense(), other)


# --- views ----------------------------------------------------------------------------------------------
def slice_inverse(self, src, dim=0, start=None, end=None, step=1):
    return self.as_strided(src.shape, src.stride(), src.storage_offset())
