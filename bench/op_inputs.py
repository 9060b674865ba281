"""What `bench/ops.py` calls each row with: made from its schema, or written here where that cannot tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opgen.load import Row
from opgen.schema import Param

SIZES = {"small": 4, "large": 1024}  # the side of the usual square operand
Arguments = dict[str, Any]  # parameter -> value; arrays become tensors
generator = np.random.default_rng(0)


def real(*shape: int) -> np.ndarray:
    """Floats between 0.1 and 0.9, where most functions are defined."""
    return generator.uniform(0.1, 0.9, shape).astype(np.float32)


def above_one(*shape: int) -> np.ndarray:
    return real(*shape) + 1


def whole(high: int, *shape: int) -> np.ndarray:
    return generator.integers(0, high, shape)


def complex_numbers(*shape: int) -> np.ndarray:
    return (real(*shape) + 1j * real(*shape)).astype(np.complex64)


def images(n: int) -> np.ndarray:
    """A batch of images with as many elements as the square operand, about."""
    return real(1, 2, 8, 8) if n == SIZES["small"] else real(8, 32, 64, 64)


def signals(n: int) -> np.ndarray:
    return images(n).reshape(images(n).shape[0], images(n).shape[1], -1)


def volumes(n: int) -> np.ndarray:
    return real(1, 2, 4, 4, 4) if n == SIZES["small"] else real(4, 32, 16, 32, 16)


def batched(n: int) -> int:
    return 2 if n == SIZES["small"] else 16


# By parameter, for every row: what the schema's type alone cannot say.
BY_NAME: dict[str, Callable[[int], Any]] = {
    "dim": lambda n: 0,
    "dim0": lambda n: 0,
    "dim1": lambda n: 1,
    "axis0": lambda n: 0,
    "axis1": lambda n: 1,
    "size": lambda n: [n, n],
    "shape": lambda n: [n * n],
    "dims": lambda n: [1, 0],
    "stride": lambda n: [1, n],
    "index": lambda n: 1,
    "start": lambda n: 0,
    "end": lambda n: n * n,
    "length": lambda n: n // 2,
    "steps": lambda n: n * n,
    "sections": lambda n: 2,
    "chunks": lambda n: 2,
    "indices": lambda n: [1],
    "split_size": lambda n: n // 2,
    "split_sizes": lambda n: [n // 4, n - n // 4],
    "n": lambda n: n * n,
    "k": lambda n: 2,
    "dimension": lambda n: 0,
    "step": lambda n: 1,
    "p": lambda n: 0.5,
    "train": lambda n: True,
    "fill_value": lambda n: 2,
    "value": lambda n: 2.0,
    "shifts": lambda n: [1],
    "row": lambda n: n,
    "col": lambda n: n,
    "low": lambda n: 0,
    "high": lambda n: 100,
    "num_samples": lambda n: 2,
    "threshold": lambda n: 0.5,
    "pad": lambda n: [1, 1],
    "repeats": lambda n: [2, 1],
    "normalized_shape": lambda n: [n],
    "source": lambda n: [0],
    "destination": lambda n: [1],
    "sizes": lambda n: [2, n // 2],
    "physical_layout": lambda n: [1, 0],
    "mean": lambda n: 0.0,
    "std": lambda n: 1.0,
    "dtype": lambda n: "float64",
    "maxnorm": lambda n: 1.0,
    "weight": lambda n: 0.5,
}

# Rows without a public name of their own, by the public function that runs them.
CALLED_AS = {
    "im2col": "nn.functional.unfold",
    "col2im": "nn.functional.fold",
    "_max_unpool": "nn.functional.max_unpool2d",
    "_resize_nearest": "nn.functional.interpolate",
    "_resize_smooth": "nn.functional.interpolate",
    "_resize_antialias": "nn.functional.interpolate",
    "nll_loss_nd": "nn.functional.nll_loss",
    "cross_entropy_loss": "nn.functional.cross_entropy",
}


def corner_places(pictures: np.ndarray) -> np.ndarray:
    """For max_unpool2d: the upper left element of each window of 2 x 2."""
    height, width = pictures.shape[2:]
    plane = np.arange(height * width).reshape(height, width)[::2, ::2]
    return np.ascontiguousarray(np.broadcast_to(plane, (*pictures.shape[:2], *plane.shape)))


# By operator: the whole call.
BY_ROW: dict[str, Callable[[int], Arguments]] = {
    "mm": lambda n: {"input": real(min(n, 512), min(n, 512)), "mat2": real(min(n, 512), min(n, 512))},
    "bmm": lambda n: {"input": real(batched(n), n // 4, n // 4), "mat2": real(batched(n), n // 4, n // 4)},
    "baddbmm": lambda n: {
        "input": real(batched(n), n // 4, n // 4),
        "batch1": real(batched(n), n // 4, n // 4),
        "batch2": real(batched(n), n // 4, n // 4),
    },
    "addbmm": lambda n: {
        "input": real(n // 4, n // 4),
        "batch1": real(batched(n), n // 4, n // 4),
        "batch2": real(batched(n), n // 4, n // 4),
    },
    "mv": lambda n: {"input": real(n, n), "vec": real(n)},
    "addmv": lambda n: {"input": real(n), "mat": real(n, n), "vec": real(n)},
    "addr": lambda n: {"input": real(n, n), "vec1": real(n), "vec2": real(n)},
    "dot": lambda n: {"input": real(n * n), "tensor": real(n * n)},
    "vdot": lambda n: {"input": real(n * n), "other": real(n * n)},
    "ger": lambda n: {"input": real(n), "vec2": real(n)},
    "outer": lambda n: {"input": real(n), "vec2": real(n)},
    "linear": lambda n: {"input": real(n, n // 2), "weight": real(n // 2, n // 2), "bias": real(n // 2)},
    "bilinear": lambda n: {"input1": real(n // 4, 8), "input2": real(n // 4, 8), "weight": real(8, 8, 8)},
    "cross": lambda n: {"input": real(n, n, 3), "other": real(n, n, 3), "dim": -1},
    "gather": lambda n: {"input": real(n, n), "dim": 0, "index": whole(n, n, n)},
    "index_select": lambda n: {"input": real(n, n), "dim": 0, "index": whole(n, n)},
    "take": lambda n: {"input": real(n, n), "index": whole(n * n, n, n)},
    "take_along_dim": lambda n: {"input": real(n, n), "indices": whole(n, n, n), "dim": 0},
    "index_fill": lambda n: {"input": real(n, n), "dim": 0, "index": whole(n, n), "value": 2.0},
    "scatter_reduce": lambda n: {
        "input": real(n, n),
        "dim": 0,
        "index": whole(n, n, n),
        "src": real(n, n),
        "reduce": "sum",
    },
    "index_reduce": lambda n: {
        "input": real(n, n),
        "dim": 0,
        "index": whole(n, n),
        "source": real(n, n),
        "reduce": "prod",
    },
    "masked_fill": lambda n: {"input": real(n, n), "mask": whole(2, n, n) > 0, "value": 2.0},
    "masked_select": lambda n: {"input": real(n, n), "mask": whole(2, n, n) > 0},
    "masked_scatter": lambda n: {"input": real(n, n), "mask": whole(2, n, n) > 0, "source": real(n, n)},
    "where": lambda n: {"condition": whole(2, n, n) > 0, "input": real(n, n), "other": real(n, n)},
    "embedding": lambda n: {"weight": real(n, 64), "indices": whole(n, n)},
    "one_hot": lambda n: {"input": whole(n, n), "num_classes": n},
    "bincount": lambda n: {"input": whole(n, n * n)},
    "conv1d": lambda n: {"input": signals(n), "weight": real(signals(n).shape[1], signals(n).shape[1], 3)},
    "conv2d": lambda n: {"input": images(n), "weight": real(images(n).shape[1], images(n).shape[1], 3, 3)},
    "conv3d": lambda n: {
        "input": volumes(n),
        "weight": real(volumes(n).shape[1], volumes(n).shape[1], 3, 3, 3),
    },
    "conv_transpose2d": lambda n: {
        "input": images(n),
        "weight": real(images(n).shape[1], images(n).shape[1], 3, 3),
    },
    "pixel_shuffle": lambda n: {"input": images(n).repeat(4, 1), "upscale_factor": 2},
    "pixel_unshuffle": lambda n: {"input": images(n), "downscale_factor": 2},
    "channel_shuffle": lambda n: {"input": images(n), "groups": 2},
    "group_norm": lambda n: {"input": images(n), "num_groups": 2},
    "im2col": lambda n: {
        "input": images(n),
        "kernel_size": [3, 3],
        "dilation": [1, 1],
        "padding": [0, 0],
        "stride": [1, 1],
    },
    "grid_sampler": lambda n: {
        "input": images(n),
        "grid": real(images(n).shape[0], *images(n).shape[2:], 2),
        "interpolation_mode": 0,
        "padding_mode": 0,
        "align_corners": False,
    },
    "batch_norm": lambda n: {
        "input": images(n),
        "weight": real(images(n).shape[1]),
        "bias": real(images(n).shape[1]),
        "running_mean": None,
        "running_var": None,
        "training": True,
        "momentum": 0.1,
        "eps": 1e-5,
        "cudnn_enabled": False,
    },
    "cross_entropy": lambda n: {"input": real(n, n), "target": whole(n, n)},
    "nll_loss": lambda n: {"input": real(n, n), "target": whole(n, n)},
    "scaled_dot_product_attention": lambda n: {k: real(2, 4, n // 4, 16) for k in ("query", "key", "value")},
    "addcdiv": lambda n: {"input": real(n, n), "tensor1": real(n, n), "tensor2": above_one(n, n)},
    "polygamma": lambda n: {"n": 1, "input": real(n, n)},
    "mvlgamma": lambda n: {"input": above_one(n, n), "p": 1},
    "acosh": lambda n: {"input": above_one(n, n)},
    "tensordot": lambda n: {
        "input": real(min(n, 512), min(n, 512)),
        "other": real(min(n, 512), min(n, 512)),
        "dims": [[1], [0]],
    },
    "cdist": lambda n: {"x1": real(n // 4, 16), "x2": real(n // 4, 16)},
    "pdist": lambda n: {"input": real(n // 4, 16)},
    "histc": lambda n: {"input": real(n, n), "bins": 10},
    "cov": lambda n: {"input": real(n // 4, n)},
    "corrcoef": lambda n: {"input": real(n // 4, n)},
    "kron": lambda n: {"input": real(n // 4, n // 4), "other": real(4, 4)},
    "block_diag": lambda n: {"tensors": [real(n // 2, n // 2)] * 2},
    "cartesian_prod": lambda n: {"tensors": [real(n), real(n)]},
    "meshgrid": lambda n: {"tensors": [real(n), real(n)]},
    "combinations": lambda n: {"input": real(n)},
    "diag_embed": lambda n: {"input": real(n // 4, n // 4)},
    "vander": lambda n: {"x": real(n)},
    "searchsorted": lambda n: {"sorted_sequence": np.sort(real(n)), "input": real(n, n)},
    "bucketize": lambda n: {"input": real(n, n), "boundaries": np.sort(real(n))},
    "quantile": lambda n: {"input": real(n, n), "q": 0.3, "dim": 0},
    "nanquantile": lambda n: {"input": real(n, n), "q": 0.3, "dim": 0},
    "repeat_interleave": lambda n: {"input": real(n, n), "repeats": 2},
    "clamp": lambda n: {"input": real(n, n), "min": 0.3, "max": 0.6},
    "imag": lambda n: {"input": complex_numbers(n, n)},
    "view_as_real": lambda n: {"input": complex_numbers(n, n)},
    "view_as_real_copy": lambda n: {"input": complex_numbers(n, n)},
    "view_as_complex": lambda n: {"input": real(n, n, 2)},
    "view_as_complex_copy": lambda n: {"input": real(n, n, 2)},
    "unfold": lambda n: {"input": real(n, n), "dimension": 0, "size": 2, "step": 1},
    "unfold_copy": lambda n: {"input": real(n, n), "dimension": 0, "size": 2, "step": 1},
    "select_scatter": lambda n: {"input": real(n, n), "src": real(n), "dim": 0, "index": 1},
    "diagonal_scatter": lambda n: {"input": real(n, n), "src": real(n)},
    "eye": lambda n: {"n": n},
    "diagflat": lambda n: {"input": real(n)},
    "index_put": lambda n: {"input": real(n, n), "indices": [whole(n, n)], "values": real(n, n)},
    "index_add": lambda n: {"input": real(n, n), "dim": 0, "index": whole(n, n), "source": real(n, n)},
    "index_copy": lambda n: {
        "input": real(n, n),
        "dim": 0,
        "index": generator.permutation(n),
        "source": real(n, n),
    },
    "dsplit.int": lambda n: {"input": real(4, n, n), "sections": 2},
    "dsplit.array": lambda n: {"input": real(4, n, n), "indices": [1]},
    "tensor_split.tensor": lambda n: {"input": real(n, n), "sections": np.array([1, n // 2])},
    "fill.Tensor": lambda n: {"input": real(n, n), "value": np.array(2.0, np.float32)},
    "where.self": lambda n: {
        "input": real(n, n),
        "condition": whole(2, n, n) > 0,
        "other": real(n, n),
    },
    "nonzero_static": lambda n: {"input": whole(2, n, n), "size": n * n // 4},
    "histogram.bins_tensor": lambda n: {
        "input": real(n, n),
        "bins": np.linspace(0, 1, 11, dtype=np.float32),
    },
    "prelu": lambda n: {"input": real(n, n) - 0.5, "weight": real(1)},
    "affine_grid_generator": lambda n: {
        "theta": real(images(n).shape[0], 2, 3),
        "size": list(images(n).shape),
        "align_corners": False,
    },
    "cosine_embedding_loss": lambda n: {
        "input1": real(n, 64),
        "input2": real(n, 64),
        "target": np.ones(n, np.float32),
    },
    "multi_margin_loss": lambda n: {"input": real(n, n), "target": whole(n, n)},
    "multilabel_margin_loss": lambda n: {"input": real(n, 16), "target": whole(16, n, 16)},
    "nll_loss_nd": lambda n: {"input": real(n, n), "target": whole(n, n)},
    "cross_entropy_loss": lambda n: {"input": real(n, n), "target": whole(n, n)},
    "convolution": lambda n: {
        "input": images(n),
        "weight": real(images(n).shape[1], images(n).shape[1], 3, 3),
        "bias": None,
        "stride": [1, 1],
        "padding": [1, 1],
        "dilation": [1, 1],
        "transposed": False,
        "output_padding": [0, 0],
        "groups": 1,
    },
    "conv_transpose1d": lambda n: {
        "input": signals(n),
        "weight": real(signals(n).shape[1], signals(n).shape[1], 3),
    },
    "conv_transpose3d.input": lambda n: {
        "input": volumes(n),
        "weight": real(volumes(n).shape[1], volumes(n).shape[1], 3, 3, 3),
    },
    "instance_norm": lambda n: {
        "input": images(n),
        "weight": real(images(n).shape[1]),
        "bias": real(images(n).shape[1]),
        "running_mean": None,
        "running_var": None,
        "use_input_stats": True,
        "momentum": 0.1,
        "eps": 1e-5,
        "cudnn_enabled": False,
    },
    "col2im": lambda n: {
        "input": real(images(n).shape[0], images(n).shape[1] * 4, images(n)[0, 0].size // 4),
        "output_size": list(images(n).shape[2:]),
        "kernel_size": [2, 2],
        "dilation": [1, 1],
        "padding": [0, 0],
        "stride": [2, 2],
    },
    "_max_unpool": lambda n: {
        "input": images(n)[:, :, ::2, ::2].copy(),
        "indices": corner_places(images(n)),
        "kernel_size": 2,
    },
    "_resize_nearest": lambda n: {"input": images(n), "size": None, "scale_factor": 2.0},
    "_resize_smooth": lambda n: {
        "input": images(n),
        "size": None,
        "scale_factor": 2.0,
        "mode": "bilinear",
    },
    "_resize_antialias": lambda n: {
        "input": images(n),
        "size": None,
        "scale_factor": 0.5,
        "mode": "bilinear",
        "align_corners": False,
        "recompute_scale_factor": None,
        "antialias": True,
    },
    "tile": lambda n: {"input": real(n, n), "dims": [2, 1]},
    "unflatten": lambda n: {"input": real(n, n), "dim": 0, "sizes": [2, n // 2]},
}


def spatial(row: Row, n: int) -> np.ndarray:
    """The operand of a pool or resize: by the number of dimensions in the operator's name."""
    makers = {"1d": signals, "linear1d": signals, "2d": images, "3d": volumes}
    return next((make(n) for mark, make in makers.items() if mark in row.name), images(n))


def near_identity(n: int) -> np.ndarray:
    """Symmetric and positive definite, with results that rounding cannot change much."""
    m = min(n, 256)
    noise = real(m, m) / m
    return np.eye(m, dtype=np.float32) + (noise + noise.T) / 2


def argument(row: Row, p: Param, n: int) -> Any:
    """A value for one required parameter, by its name, then by its type."""
    if row.file == "ops/matrix.toml" and p.type == "Tensor":
        return near_identity(n)
    window = any(q.name in ("kernel_size", "output_size") for q in row.schema.params)
    if p.name in ("kernel_size", "output_size"):
        return [2] * (p.repeat_int or 1)
    if p.type == "Tensor":
        if window:
            return spatial(row, n)
        return whole(n, n, n) if p.name == "index" else real(n, n)
    if p.type == "Tensor[]":
        return [real(n, n), real(n, n)]
    if p.name in BY_NAME:
        return BY_NAME[p.name](n)
    return {"int[]": [0], "int[]?": [0], "Scalar": 2, "int": 1, "float": 0.5, "bool": True, "str": "sum"}.get(
        p.type
    )


def arguments(row: Row, size: str) -> Arguments:
    """The call of a row at a size: every required parameter, the others as they come."""
    n = SIZES[size]
    for name in (row.label, row.name):
        if name in BY_ROW:
            return BY_ROW[name](n)
    return {p.name: argument(row, p, n) for p in row.schema.params if p.default is None}
