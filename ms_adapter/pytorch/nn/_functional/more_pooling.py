"""Pooling by norms, random windows and back; normalisation over channels; bags of embeddings."""

import math
from collections.abc import Iterable

import ms_adapter.pytorch as torch
from ms_adapter.pytorch.amp.autocast_mode import _float32_on_cpu

from ... import _operators

_rows = _operators.Rows("nn.functional")


def _each(value, n):
    return list(value) if isinstance(value, Iterable) else [value] * n


def _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, dims):
    pool = getattr(torch.nn.functional, f"avg_pool{dims}d")
    powers = input.pow(norm_type)
    out = pool(powers, kernel_size, [] if stride is None else stride, 0, ceil_mode)
    window = math.prod(_each(kernel_size, dims))
    return (out.sign() * torch.relu(out.abs())).mul(window).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of the last dimension."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of the last two dimensions."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The p-norm of each window of the last three dimensions."""
    return _lp_pool(input, norm_type, kernel_size, stride, ceil_mode, 3)


def _unpooled_size(input, kernel_size, stride, padding, output_size):
    """The spatial size before pooling: the asked one, which must be near what the windows say."""
    dims = len(kernel_size)
    default = [
        (n - 1) * s + k - 2 * p
        for n, k, s, p in zip(input.shape[-dims:], kernel_size, stride, padding, strict=True)
    ]
    if output_size is None:
        return default
    output_size = list(output_size)
    if len(output_size) == dims + 2:
        output_size = output_size[2:]
    if len(output_size) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length "
            f"of '{len(output_size)}'"
        )
    for asked, middle, step in zip(output_size, default, stride, strict=True):
        if not middle - step < asked < middle + step:
            raise ValueError(
                f"invalid output_size {output_size}: each must be less than the stride {stride} away from "
                f"{default}"
            )
    return output_size


def _max_unpool(input, indices, kernel_size, stride, padding, output_size, dims):
    kernel_size, padding = _each(kernel_size, dims), _each(padding, dims)
    stride = kernel_size if stride is None else _each(stride, dims)
    size = _unpooled_size(input, kernel_size, stride, padding, output_size)
    return _rows._max_unpool(input, indices, size)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the pooled elements of ``max_pool1d`` back at ``indices``."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the pooled elements of ``max_pool2d`` back at ``indices``."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """Zeros with the pooled elements of ``max_pool3d`` back at ``indices``."""
    return _max_unpool(input, indices, kernel_size, stride, padding, output_size, 3)


def _random_starts(sample, size, outputs, window):
    """Where the windows (N, C, outputs) along one dimension start, from one draw (N, C) in [0, 1)."""
    last = size - window
    if outputs == 1:
        return torch.full((*sample.shape, 1), last, dtype=torch.int64, device=sample.device)
    alpha = last / (outputs - 1)
    steps = torch.arange(outputs - 1, dtype=sample.dtype, device=sample.device)
    starts = ((steps + sample.unsqueeze(-1)) * alpha).long() - (sample * alpha).long().unsqueeze(-1)
    final = torch.full((*sample.shape, 1), last, dtype=torch.int64, device=sample.device)
    return torch.cat([starts, final], -1)


def _checked_samples(name, samples, batch, dims):
    """The samples of this batch: there may be some for more of it."""
    if samples.dtype != batch.dtype:
        raise RuntimeError(f"{name}: _random_samples are {samples.dtype}, the input is {batch.dtype}.")
    if samples.size(0) < batch.size(0) or tuple(samples.shape[1:]) != (batch.size(1), dims):
        raise RuntimeError(
            f"{name}: _random_samples of shape {tuple(samples.shape)} do not fit: at least "
            f"({batch.size(0)}, {batch.size(1)}, {dims}) are needed."
        )
    return samples[: batch.size(0)]


@_float32_on_cpu
def _fractional_max_pool(input, kernel_size, output_size, output_ratio, return_indices, samples, dims):
    name = f"fractional_max_pool{dims}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    spatial = list(input.shape[-dims:])
    if output_size is None:
        output_size = [int(n * r) for n, r in zip(spatial, _each(output_ratio, dims), strict=True)]
    output_size, kernel_size = _each(output_size, dims), _each(kernel_size, dims)
    for n, out, window in zip(spatial, output_size, kernel_size, strict=True):
        if out + window - 1 > n:
            raise RuntimeError(f"{name}: {out} windows of {window} do not fit a dimension of {n}.")
    batch = input if input.dim() == dims + 2 else input.unsqueeze(0)
    if samples is None:
        samples = torch.rand(batch.size(0), batch.size(1), dims, dtype=input.dtype, device=input.device)
    else:
        samples = _checked_samples(name, samples, batch, dims)
    index = torch.zeros((), dtype=torch.int64, device=input.device)
    for d, (n, out, window) in enumerate(zip(spatial, output_size, kernel_size, strict=True)):
        draw = samples[..., dims - 1 - d] if dims == 2 else samples[..., d]
        starts = _random_starts(draw, n, out, window)
        taps = starts.unsqueeze(-1) + torch.arange(window, device=starts.device)
        shape = [*batch.shape[:2], *([1] * 2 * dims)]
        shape[2 + d], shape[2 + dims + d] = out, window
        index = index * n + taps.reshape(shape)
    flat_index = index.flatten(2)
    values = (
        batch.flatten(2).gather(2, flat_index).reshape(*batch.shape[:2], *output_size, math.prod(kernel_size))
    )
    best, at = values.max(-1)
    places = flat_index.reshape(values.shape).gather(-1, at.unsqueeze(-1)).squeeze(-1)
    if batch is not input:
        best, places = best.squeeze(0), places.squeeze(0)
    return (best, places) if return_indices else best


def fractional_max_pool2d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The largest element of each of ``output_size`` windows that lie at random."""
    return _fractional_max_pool(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2
    )


def fractional_max_pool3d(
    input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None
):
    """The largest element of each of ``output_size`` windows that lie at random."""
    return _fractional_max_pool(
        input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3
    )


def local_response_norm(input, size, alpha=0.0001, beta=0.75, k=1.0):
    """Divide by ``(k + alpha * mean of the squares of `size` neighbouring channels) ** beta``."""
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    if input.numel() == 0:
        return input
    rows = (input * input).reshape(input.size(0), 1, input.size(1), -1)
    padded = torch.nn.functional.pad(rows, (0, 0, size // 2, (size - 1) // 2))
    mean = torch.nn.functional.avg_pool2d(padded, (size, 1), stride=1).reshape(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def _bags(input, offsets, include_last_offset):
    """The bag of each index, and how many bags there are."""
    count = offsets.size(0) - bool(include_last_offset)
    marks = torch.zeros(input.size(0) + 1, dtype=torch.int64, device=offsets.device)
    ones = torch.ones(count, dtype=torch.int64, device=offsets.device)
    marks = marks.index_add(0, offsets[:count].long(), ones)
    return marks[: input.size(0)].cumsum(0) - 1, count


def _check_bags(input, offsets, mode, per_sample_weights):
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({tuple(per_sample_weights.shape)}) is not None, it must "
            f"have the same shape as the input ({tuple(input.shape)})"
        )
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
            f"mode='sum' (got mode='{mode}')."
        )
    if input.dim() == 2 and offsets is not None:
        raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch")
    if input.dim() == 1 and (offsets is None or offsets.dim() != 1):
        raise ValueError("offsets has to be a 1D Tensor where input is 1D")
    if input.dim() not in (1, 2):
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.dim()}")


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or largest of the rows of ``weight`` that each bag of indices names.

    A bag is a row of a 2-D ``input``, or what stands between two ``offsets`` of a 1-D one.
    """
    _check_bags(input, offsets, mode, per_sample_weights)
    if input.dim() == 2:
        offsets, include_last_offset = (
            torch.arange(0, input.numel(), input.size(1) or 1, device=input.device),
            False,
        )
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
        input = input.reshape(-1)
    rows = torch.nn.functional.embedding(
        input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
    )
    bag, count = _bags(input, offsets, include_last_offset)
    if padding_idx is not None:
        kept = torch.nonzero(input != padding_idx % weight.size(0)).squeeze(1)
        rows, bag = rows[kept], bag[kept]
        per_sample_weights = None if per_sample_weights is None else per_sample_weights[kept]
    if mode == "max":
        return _largest_of_bags(rows, bag, count)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.unsqueeze(1)
    total = rows.new_zeros((count, weight.size(1))).index_add(0, bag, rows)
    if mode == "sum":
        return total
    sizes = rows.new_zeros((count,)).index_add(0, bag, rows.new_ones((bag.size(0),)))
    return total / sizes.clamp_min(1).unsqueeze(1)


def _largest_of_bags(rows, bag, count):
    """The largest of each column in each bag; zeros for an empty one."""
    results = []
    for number in range(count):
        own = rows[torch.nonzero(bag == number).squeeze(1)]
        results.append(own.max(0)[0] if own.size(0) else rows.new_zeros((rows.size(1),)))
    return torch.stack(results) if results else rows.new_zeros((0, rows.size(1)))
