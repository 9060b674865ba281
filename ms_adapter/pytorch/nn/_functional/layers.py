"""Dropout, embedding, normalisation and pooling: PyTorch's checks and defaults around the operators."""

import warnings

import ms_adapter.pytorch as torch

from ... import _operators

_rows = _operators.Rows("nn.functional")


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    """In training, zero each element with probability ``p`` and scale the others by ``1 / (1 - p)``.

    >>> import ms_adapter.pytorch as torch
    >>> dropout(torch.ones(3), training=False)
    tensor([1., 1., 1.])
    """
    _check_probability(p)
    return (torch.dropout_ if inplace else torch.dropout)(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Dropout that keeps the mean and variance of SELU's outputs."""
    _check_probability(p)
    return (torch.alpha_dropout_ if inplace else torch.alpha_dropout)(input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Alpha dropout of whole channels."""
    _check_probability(p)
    return (torch.feature_alpha_dropout_ if inplace else torch.feature_alpha_dropout)(input, p, training)


def _feature_dropout(input, p, training, inplace):
    return (torch.feature_dropout_ if inplace else torch.feature_dropout)(input, p, training)


def _unbatched_feature_dropout(input, p, training, inplace):
    batched = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    result = _feature_dropout(batched, p, training, inplace)
    return result.squeeze_(0) if inplace else result.squeeze(0)


def dropout1d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of a (N, C, L) or (C, L) input."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input.")
    drop = _feature_dropout if input.dim() == 3 else _unbatched_feature_dropout
    return drop(input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of a (N, C, H, W) input."""
    _check_probability(p)
    if input.dim() != 4:
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d. It drops channels of (N, C, H, W) "
            "inputs; a 3-D input is taken as (N, C, L). Use dropout or dropout1d for others.",
            stacklevel=2,
        )
    return _feature_dropout(input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    """Dropout of whole channels of a (N, C, D, H, W) or (C, D, H, W) input."""
    _check_probability(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which drops channels of 4-D or 5-D "
            "inputs. Use dropout for others.",
            stacklevel=2,
        )
    drop = _unbatched_feature_dropout if input.dim() == 4 else _feature_dropout
    return drop(input, p, training, inplace)


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """The rows of ``weight`` (V, D) that ``input`` (any shape, integers) names: its shape + (D,).

    ``padding_idx`` gets no gradient; ``max_norm`` scales used rows down in place first.
    """
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.size(0) <= padding_idx < weight.size(0):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        input = input.contiguous()
        with torch.no_grad():
            torch.embedding_renorm_(weight, input, max_norm, norm_type)
    return torch.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


def _verify_batch_size(size):
    """Batch statistics need more than one value for each channel."""
    count = size[0]
    for extent in size[2:]:
        count *= extent
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05
):
    """Normalise each channel of (N, C, ...): by the batch in ``training``, else by the running statistics."""
    if training:
        _verify_batch_size(input.size())
    if eps < 0.0 or (training and eps == 0.0):
        bound = "positive during training" if training else "non-negative"
        raise ValueError(f"batch_norm eps must be {bound}, but got {eps}")
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-05,
):
    """Normalise each channel of each sample of (N, C, ...)."""
    if use_input_stats:
        count = 1
        for extent in input.size()[2:]:
            count *= extent
        if count == 1:
            raise ValueError(
                f"Expected more than 1 spatial element when training, got input size {input.size()}"
            )
    return torch.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05):
    """Normalise each of ``num_groups`` groups of channels of each sample of (N, C, ...)."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _verify_batch_size([input.size(0) * input.size(1) // num_groups, num_groups, *input.size()[2:]])
    return torch.group_norm(input, num_groups, weight, bias, eps, False)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05):
    """Normalise over the last dimensions, whose sizes are ``normalized_shape``."""
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, False)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    """Divide by the root mean square over the last dimensions, whose sizes are ``normalized_shape``."""
    return torch.rms_norm(input, normalized_shape, weight, eps)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Divide by the p-norm along ``dim``, or by ``eps`` where that is larger."""
    norm = torch.linalg.vector_norm(input, p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / norm if out is None else torch.div(input, norm, out=out)


def _list_with_default(out_size, defaults):
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [d if v is None else v for v, d in zip(out_size, defaults[-len(out_size) :], strict=False)]


def adaptive_avg_pool1d(input, output_size):
    """Average over ``output_size`` bins of the last dimension."""
    return torch.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input, output_size):
    """Average over a grid of ``output_size`` bins; ``None`` keeps that dimension."""
    return _rows.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input, output_size):
    """Average over a grid of ``output_size`` bins; ``None`` keeps that dimension."""
    return _rows.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def _window(kernel_size, stride, padding, dilation, ceil_mode):
    return kernel_size, [] if stride is None else stride, padding, dilation, ceil_mode


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element in each window of the last dimension."""
    window = _window(kernel_size, stride, padding, dilation, ceil_mode)
    return (
        torch.max_pool1d_with_indices(input, *window) if return_indices else torch.max_pool1d(input, *window)
    )


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element in each window of the last two dimensions."""
    window = _window(kernel_size, stride, padding, dilation, ceil_mode)
    return (
        _rows.max_pool2d_with_indices(input, *window) if return_indices else torch.max_pool2d(input, *window)
    )


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """The largest element in each window of the last three dimensions."""
    window = _window(kernel_size, stride, padding, dilation, ceil_mode)
    return (
        _rows.max_pool3d_with_indices(input, *window) if return_indices else torch.max_pool3d(input, *window)
    )


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest element in each of ``output_size`` bins of the last dimension."""
    output, indices = torch.adaptive_max_pool1d(input, output_size)
    return (output, indices) if return_indices else output


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest element in each of a grid of ``output_size`` bins; ``None`` keeps that dimension."""
    output, indices = _rows.adaptive_max_pool2d(input, _list_with_default(output_size, input.size()))
    return (output, indices) if return_indices else output


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest element in each of a grid of ``output_size`` bins; ``None`` keeps that dimension."""
    output, indices = _rows.adaptive_max_pool3d(input, _list_with_default(output_size, input.size()))
    return (output, indices) if return_indices else output


def pad(input, pad, mode="constant", value=None):
    """Pad the last dimensions by the pairs in ``pad``, last dimension first; ``mode`` is constant, reflect,
    replicate or circular."""
    return _rows.pad(input, pad, mode, value)
