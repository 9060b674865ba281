"""torchvision's operators against their formulas, written out for one output at a time in NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import ms_adapter.pytorch as torch

vision = torch.ops.torchvision
REGIONS = [
    [0, 0.3, 1.2, 6.1, 7.4],
    [1, -3.0, 2.0, 4.0, 12.0],
    [0, 5.0, 5.0, 5.2, 5.1],
    [1, 2.5, 0.5, 9.5, 3.5],
]


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


def between(plane: np.ndarray, y: float, x: float) -> float:
    """The plane at a place between elements, which are zero outside of it."""
    top, left = int(np.floor(y)), int(np.floor(x))
    total = 0.0
    for row, column in itertools.product((top, top + 1), (left, left + 1)):
        if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]:
            total += plane[row, column] * (1 - abs(y - row)) * (1 - abs(x - column))
    return total


def held(plane: np.ndarray, y: float, x: float) -> float:
    """The same for regions: the border's elements go on, for one element."""
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    return between(plane, min(max(y, 0.0), height - 1), min(max(x, 0.0), width - 1))


def align(image: np.ndarray, pooled: tuple[int, int], scale: float, ratio: int, kind: str) -> np.ndarray:
    out = []
    for number, *corners in REGIONS:
        left, top, right, bottom = (c * scale - (0.0 if kind == "plain" else 0.5) for c in corners)
        size = np.array([bottom - top, right - left])
        size = (np.maximum(size, 1.0) if kind == "plain" else size) / pooled
        points = [ratio if ratio > 0 else int(np.ceil(length)) for length in size]
        channels = image.shape[1] // (pooled[0] * pooled[1] if kind == "channels" else 1)
        bins = np.zeros((channels, *pooled))
        for c, i, j in np.ndindex(*bins.shape):
            source = (c * pooled[0] + i) * pooled[1] + j if kind == "channels" else c
            values = [
                held(
                    image[int(number), source],
                    top + (i + (a + 0.5) / points[0]) * size[0],
                    left + (j + (b + 0.5) / points[1]) * size[1],
                )
                for a, b in itertools.product(range(points[0]), range(points[1]))
            ]
            bins[c, i, j] = np.mean(values)
        out.append(bins)
    return np.stack(out)


def checked(function: Any, *inputs: torch.Tensor) -> None:
    """Compares the gradients with differences."""
    wanted = [x.double().requires_grad_() for x in inputs]
    assert torch.autograd.gradcheck(function, wanted, fast_mode=False)


@pytest.mark.parametrize("kind", ["plain", "aligned"])
@pytest.mark.parametrize(("scale", "ratio"), [(1.0, -1), (0.5, 2)])
def test_roi_align(kind: str, scale: float, ratio: int) -> None:
    image, rois = numbers(2, 3, 9, 8), torch.tensor(REGIONS, dtype=torch.float64)
    options = (scale, 2, 3, ratio, kind == "aligned")
    out = vision.roi_align(torch.tensor(image), rois, *options)
    np.testing.assert_allclose(out.numpy(), align(image, (2, 3), scale, ratio, kind), rtol=0, atol=1e-12)
    checked(lambda x: vision.roi_align(x, rois, *options), torch.tensor(image))
    small = torch.tensor(image[:, :1])
    x = small.requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: vision.roi_align(x, rois, *options), [x])


def test_ps_roi_align() -> None:
    image, rois = numbers(2, 12, 9, 8), torch.tensor(REGIONS[:2], dtype=torch.float64)
    out, channels = vision.ps_roi_align(torch.tensor(image), rois, 1.0, 2, 3, 2)
    wanted = align(image, (2, 3), 1.0, 2, "channels")[:2]
    np.testing.assert_allclose(out.numpy(), wanted, rtol=0, atol=1e-12)
    assert channels.dtype == torch.int32
    assert channels[1].flatten().tolist() == list(range(12))
    checked(lambda x: vision.ps_roi_align(x, rois, 1.0, 2, 3, 2)[0], torch.tensor(image))


def whole_bins(corners: list[float], extra: int, pooled: tuple[int, int]) -> Any:
    """(row, column, elements' rows, elements' columns) of each bin of a region in whole elements."""
    left, top, right, bottom = (int(np.floor(c + 0.5)) for c in corners)
    lengths = max(bottom - top + extra, 1), max(right - left + extra, 1)
    for i, j in np.ndindex(*pooled):
        spans = []
        for place, start, length, bins in zip((i, j), (top, left), lengths, pooled, strict=True):
            edges = np.floor(place * length / bins), np.ceil((place + 1) * length / bins)
            spans.append([int(edge) + start for edge in edges])
        yield i, j, *spans


def test_roi_pool() -> None:
    image, rois = numbers(2, 3, 9, 8), torch.tensor(REGIONS, dtype=torch.float64)
    out, places = vision.roi_pool(torch.tensor(image), rois, 1.0, 2, 3)
    for k, (number, *corners) in enumerate(REGIONS):
        for i, j, (top, bottom), (left, right) in whole_bins(corners, 1, (2, 3)):
            part = image[int(number), :, max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)]
            wanted = part.max(axis=(1, 2)) if part.size else np.zeros(3)
            np.testing.assert_array_equal(out[k, :, i, j].numpy(), wanted)
            at = places[k, :, i, j].tolist()
            flat = image[int(number)].reshape(3, -1)
            assert [flat[c, p] for c, p in enumerate(at)] == wanted.tolist() if part.size else at == [-1] * 3
    checked(lambda x: vision.roi_pool(x, rois, 1.0, 2, 3)[0], torch.tensor(image))


def test_ps_roi_pool() -> None:
    image = numbers(2, 12, 9, 8)
    inside = [[0, 1.0, 1.0, 6.0, 6.0], [1, 0.0, 2.0, 4.0, 7.0]]
    rois = torch.tensor(inside, dtype=torch.float64)
    out, _ = vision.ps_roi_pool(torch.tensor(image), rois, 1.0, 2, 3)
    for k, (number, *corners) in enumerate(inside):
        for i, j, (top, bottom), (left, right) in whole_bins(corners, 0, (2, 3)):
            for c in range(2):
                part = image[int(number), (c * 2 + i) * 3 + j, top:bottom, left:right]
                assert out[k, c, i, j].item() == pytest.approx(part.mean(), abs=1e-12)
    checked(lambda x: vision.ps_roi_pool(x, rois, 1.0, 2, 3)[0], torch.tensor(image))


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    sides = np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0)
    common = sides.prod()
    return common / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - common)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_nms_keeps_the_best_of_what_overlaps(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(1)
    corner = rng.uniform(0, 20, (80, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(1, 10, (80, 2))], axis=1).astype(np.float32)
    scores = rng.integers(0, 9, 80)  # ties keep their order
    kept: list[int] = []
    for i in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[i], boxes[k]) <= 0.3 for k in kept):
            kept.append(int(i))
    found = vision.nms(torch.tensor(boxes).to(dtype), torch.tensor(scores).to(dtype), 0.3)
    assert found.tolist() == kept
    assert found.dtype == torch.int64
    assert vision.nms(torch.zeros(0, 4), torch.zeros(0), 0.3).shape == (0,)


@pytest.mark.parametrize(("threshold", "kept"), [(1 / 3, [0]), (0.33333335, [0, 1])])
def test_nms_compares_with_the_threshold_as_given_not_rounded(threshold: float, kept: list[int]) -> None:
    boxes = torch.tensor([[0.0, 0.0, 2.0, 1.0], [1.0, 0.0, 3.0, 1.0]])  # a third, in float32 a little more
    assert vision.nms(boxes, torch.tensor([2.0, 1.0]), threshold).tolist() == kept


def deformed(
    x: np.ndarray, w: np.ndarray, offset: np.ndarray, mask: np.ndarray, s: dict[str, Any]
) -> np.ndarray:
    """deform_conv2d, without bias, one product at a time."""
    n, _, rows, columns = offset.shape
    out = np.zeros((n, w.shape[0], rows, columns))
    of_group, out_of_group = w.shape[1], w.shape[0] // s["groups"]
    of_offsets = x.shape[1] // s["offset_groups"]
    for b, o, y, x_out, c, i, j in np.ndindex(*out.shape, *w.shape[1:]):
        channel = o // out_of_group * of_group + c
        tap = (channel // of_offsets * w.shape[2] + i) * w.shape[3] + j
        down = y * s["stride"][0] - s["padding"][0] + i * s["dilation"][0] + offset[b, 2 * tap, y, x_out]
        right = (
            x_out * s["stride"][1] - s["padding"][1] + j * s["dilation"][1] + offset[b, 2 * tap + 1, y, x_out]
        )
        value = between(x[b, channel], down, right)
        out[b, o, y, x_out] += value * w[o, c, i, j] * mask[b, tap, y, x_out]
    return out


@pytest.mark.parametrize("use_mask", [False, True])
@pytest.mark.parametrize(("groups", "offset_groups"), [(1, 1), (2, 1), (1, 2), (2, 2)])
def test_deform_conv2d(groups: int, offset_groups: int, use_mask: bool) -> None:
    s = {"stride": (1, 2), "padding": (1, 0), "dilation": (1, 2), "groups": groups}
    s["offset_groups"] = offset_groups
    x, w, bias = numbers(2, 4, 5, 6), numbers(2, 4 // groups, 3, 2, seed=1), numbers(2, seed=2)
    offset = numbers(2, offset_groups * 12, 5, 2, seed=3)
    mask = np.abs(numbers(2, offset_groups * 6, 5, 2, seed=4)) if use_mask else np.ones((2, 12, 5, 2))
    rest = (*s["stride"], *s["padding"], *s["dilation"], groups, offset_groups, use_mask)
    given = [torch.tensor(a) for a in (x, w, offset, mask if use_mask else np.zeros((2, 1)), bias)]
    out = vision.deform_conv2d(*given, *rest)
    wanted = deformed(x, w, offset, mask, s) + bias[:, None, None]
    np.testing.assert_allclose(out.numpy(), wanted, rtol=0, atol=1e-12)
    checked(lambda *tensors: vision.deform_conv2d(*tensors, *rest), *given)


def test_box_iou_rotated() -> None:
    boxes = torch.tensor(
        [[0, 0, 2, 2, 0], [0, 0, 2, 2, 90], [1, 0, 2, 2, 0], [9, 9, 1, 1, 30], [0, 0, 2, 2, 45]]
    )
    found = vision.box_iou_rotated(boxes.double(), boxes.double())
    octagon = 8 * (2**0.5 - 1)  # two squares of side 2, turned against each other by an eighth
    assert found[0].tolist() == pytest.approx([1, 1, 1 / 3, 0, octagon / (8 - octagon)], abs=1e-12)
    torch.testing.assert_close(found, found.t())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_types_are_computed_as_float(dtype: torch.dtype) -> None:
    image, rois = torch.tensor(numbers(2, 3, 9, 8)).to(dtype), torch.tensor(REGIONS).to(dtype)
    out = vision.roi_align(image, rois, 1.0, 2, 2, 2, True)
    assert out.dtype == dtype
    assert torch.equal(out, vision.roi_align(image.float(), rois.float(), 1.0, 2, 2, 2, True).to(dtype))


def test_meta_tensors_have_the_shapes() -> None:
    image, rois = torch.empty(2, 12, 9, 8, device="meta"), torch.empty(5, 5, device="meta")
    assert vision.roi_align(image, rois, 1.0, 2, 3, -1, False).shape == (5, 12, 2, 3)
    pooled, channels = vision.ps_roi_pool(image, rois, 1.0, 2, 3)
    assert pooled.shape == channels.shape == (5, 2, 2, 3)


IMAGE, ROIS = torch.zeros(1, 4, 5, 5), torch.zeros(1, 5)
FORMS = (1.0, 2, 2, 0, True)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: vision.roi_align(IMAGE, ROIS[:, :4], *FORMS), RuntimeError, "rois must have shape"),
        (lambda: vision.roi_align(IMAGE, ROIS.double(), *FORMS), RuntimeError, "same type"),
        (lambda: vision.roi_align(IMAGE, ROIS + 3, *FORMS), IndexError, "image 3.* of a batch of 1"),
        (lambda: vision.ps_roi_pool(IMAGE, ROIS, 1.0, 3, 3), RuntimeError, "must be a multiple"),
        (lambda: vision.nms(ROIS, ROIS[0], 0.5), RuntimeError, "boxes should be a 2d tensor"),
        (lambda: vision.qnms(ROIS, ROIS, 0.5), (AttributeError, NotImplementedError), "qnms"),
    ],
)
def test_wrong_calls(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_empty_batches_have_empty_results() -> None:
    x, weight = torch.zeros(0, 4, 5, 5, requires_grad=True), torch.ones(6, 2, 3, 3, requires_grad=True)
    offset, mask = torch.zeros(0, 18, 3, 3), torch.zeros(0, 9, 3, 3)
    out = vision.deform_conv2d(x, weight, offset, mask, torch.ones(6), 1, 1, 0, 0, 1, 1, 2, 1, True)
    assert out.shape == (0, 6, 3, 3)
    out.sum().backward()
    assert weight.grad.abs().sum() == 0
    assert vision.roi_align(torch.zeros(1, 4, 5, 5), torch.zeros(0, 5), *FORMS).shape == (0, 4, 2, 2)


def test_opcheck_takes_nms_whose_shape_is_data() -> None:
    boxes = (torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.ones(1), 0.5)
    assert set(torch.library.opcheck(vision.nms, boxes).values()) == {"SUCCESS"}


def test_opcheck_takes_them() -> None:
    x, rois = torch.rand(2, 3, 9, 8, requires_grad=True), torch.tensor(REGIONS)
    found = torch.library.opcheck(vision.roi_align, (x, rois, *FORMS))
    assert set(found.values()) == {"SUCCESS"}
