"""Resizing, sampling and windows: PyTorch's argument checks around the operators."""

import math
import warnings

import ms_adapter.pytorch as torch

from ... import _operators

_rows = _operators.Rows("nn.functional")

_SMOOTH = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}
_PLAIN = ("nearest", "nearest-exact", "area")


def _for_each_dim(name, value, dims, input):
    """One number for all spatial dimensions, or one for each, as a list."""
    if not isinstance(value, (list, tuple)):
        return [value] * dims
    if len(value) != dims:
        raise ValueError(
            f"Input and {name} must have the same number of spatial dimensions, but got input with spatial "
            f"dimensions of {list(input.shape[2:])} and {name} of {value}. Please provide input tensor in "
            f"(N, C, d1, d2, ...,dK) format and {name} in (o1, o2, ...,oK) format."
        )
    return list(value)


def _target(input, size, scale_factor, recompute):
    """The output size, and the scales where the operator is to use them as given."""
    dims = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return _for_each_dim("output size", size, dims, input), None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    scales = [float(s) for s in _for_each_dim("scale_factor", scale_factor, dims, input)]
    size = [math.floor(float(n) * s) for n, s in zip(input.shape[2:], scales, strict=True)]
    return size, None if recompute else scales


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """(N, C, ...) resized to ``size`` or by ``scale_factor``; ``mode`` is nearest, nearest-exact, area,
    linear, bilinear, bicubic or trilinear.

    >>> import ms_adapter.pytorch as torch
    >>> interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if mode in _PLAIN and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
            "| trilinear"
        )
    if mode not in _PLAIN and mode not in _SMOOTH or not 3 <= input.dim() <= 5:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported (got "
            f"{input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | "
            f"nearest-exact (got {mode})"
        )
    size, scales = _target(
        input, size, scale_factor, recompute_scale_factor or mode == "area" and size is None
    )
    if antialias and not (mode in ("bilinear", "bicubic") and input.dim() == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear and bicubic modes and requires a 4-D tensor as input"
        )
    if mode == "area":
        return getattr(torch.nn.functional, f"adaptive_avg_pool{input.dim() - 2}d")(input, size)
    if mode in _PLAIN:
        return _rows._resize_nearest(input, size, scales, mode == "nearest-exact")
    if _SMOOTH[mode] != input.dim() - 2:
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs {_SMOOTH[mode] + 2}D input"
        )
    resize = _rows._resize_antialias if antialias else _rows._resize_smooth
    return resize(input, size, scales, bool(align_corners), mode == "bicubic")


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """``interpolate`` under its old name."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """``interpolate`` with the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """``interpolate`` between corners that stay in place."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_GRID_MODES = ("bilinear", "nearest", "bicubic")
_GRID_PADDINGS = ("zeros", "border", "reflection")


def _align_corners_or_warn(name, align_corners):
    if align_corners is None:
        warnings.warn(
            f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please specify "
            f"align_corners=True if the old behavior is desired.",
            stacklevel=3,
        )
    return bool(align_corners)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """(N, C, H, W) or (N, C, D, H, W) read at the places of ``grid`` (N, ..., 2 or 3): x first, -1 to 1."""
    if mode not in _GRID_MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: "
            f"'{mode}'"
        )
    if padding_mode not in _GRID_PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', "
            f"but got: '{padding_mode}'"
        )
    align_corners = _align_corners_or_warn("grid_sample", align_corners)
    return torch.grid_sampler(
        input, grid, _GRID_MODES.index(mode), _GRID_PADDINGS.index(padding_mode), align_corners
    )


def affine_grid(theta, size, align_corners=None):
    """The grid for ``grid_sample`` that the affine maps ``theta`` (N, 2, 3) or (N, 3, 4) make of outputs of
    ``size``."""
    align_corners = _align_corners_or_warn("affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    spatial = len(size) - 2
    if spatial not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got "
            f"size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (spatial, spatial + 1):
        raise ValueError(
            f"Expected a batch of {spatial}D affine matrices of shape Nx{spatial}x{spatial + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return torch.affine_grid_generator(theta, size, align_corners)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The windows of (N, C, H, W) as columns: (N, C times the window's size, number of windows)."""
    return _rows.im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """Columns back to (N, C, H, W), overlapping windows added up."""
    return _rows.col2im(input, output_size, kernel_size, dilation, padding, stride)
