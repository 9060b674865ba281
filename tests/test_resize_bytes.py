"""uint8 images are resized in integers: every byte is PyTorch's."""

from typing import Any

import numpy as np
import pytest
import torch

import ms_adapter.pytorch as ours

SIZES = [
    ((5, 7), (3, 4)),
    ((5, 7), (11, 13)),
    ((32, 17), (8, 40)),
    ((9, 9), (9, 4)),
    ((6, 1), (1, 5)),
    ((4, 4), (4, 4)),
]


def resized(lib: Any, image: np.ndarray, channels_last: bool, **options: Any) -> Any:
    t = lib.from_numpy(image)
    if channels_last:
        t = t.contiguous(memory_format=lib.channels_last)
    return lib.nn.functional.interpolate(t, **options)


def assert_same(image: np.ndarray, channels_last: bool, **options: Any) -> None:
    got, want = (resized(lib, image, channels_last, **options) for lib in (ours, torch))
    assert str(got.dtype) == str(want.dtype) and np.array_equal(got.numpy(), want.numpy()), options
    last = (
        lib_t.is_contiguous(memory_format=lib.channels_last) for lib, lib_t in ((ours, got), (torch, want))
    )
    assert len(set(last)) == 1, options


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("mode", ["bilinear", "bicubic"])
@pytest.mark.parametrize("channels", [1, 3, 6])
@pytest.mark.parametrize(("start", "size"), SIZES)
def test_smooth(
    start: tuple[int, int],
    size: tuple[int, int],
    channels: int,
    mode: str,
    antialias: bool,
    channels_last: bool,
) -> None:
    rng = np.random.default_rng(5)
    for image in (
        rng.integers(0, 256, (2, channels, *start), dtype=np.uint8),
        rng.choice([0, 255], (2, channels, *start)).astype(np.uint8),
    ):
        for align_corners in (False, True):
            options = {"mode": mode, "antialias": antialias, "align_corners": align_corners}
            assert_same(image, channels_last, size=size, **options)
            assert_same(image, channels_last, scale_factor=(1.7, 0.6 if start[1] > 1 else 3.3), **options)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("mode", ["nearest", "nearest-exact"])
def test_nearest(mode: str, channels_last: bool) -> None:
    image = np.random.default_rng(5).integers(0, 256, (2, 3, 9, 14), dtype=np.uint8)
    for size in ((3, 5), (20, 14), (9, 14), (1, 1)):
        assert_same(image, channels_last, size=size, mode=mode)
    assert_same(image, channels_last, scale_factor=1.7, mode=mode)
