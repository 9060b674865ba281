"""The same numbers as PyTorch where several would do: roundings of halves, ties, fractions for integers."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch")
HALVES = ["float16", "bfloat16"]


def inputs(lib, dtype: str) -> SimpleNamespace:
    """Equal tensors under both: x positive, u in (0, 1), v of both signs, small m and images."""
    generator = torch.Generator().manual_seed(5)
    made = {
        "x": torch.rand(512, generator=generator) * 5 + 0.01,
        "u": torch.rand(512, generator=generator) * 0.9 + 0.05,
        "v": torch.randn(512, generator=generator),
        "m": torch.randn(20, 20, generator=generator),
        "b": torch.randn(3, 20, 20, generator=generator),
        "image": torch.randn(1, 2, 8, 8, generator=generator),
        "weight": torch.randn(2, 3, 3, 3, generator=generator),
    }
    values = {name: t.to(getattr(torch, dtype)).float().tolist() for name, t in made.items()}
    return SimpleNamespace(
        **{name: lib.tensor(rows, dtype=getattr(lib, dtype)) for name, rows in values.items()}
    )


def same(got: list, want: list) -> bool:
    """Equal numbers, NaN where NaN is."""
    if isinstance(want, list):
        return len(got) == len(want) and all(map(same, got, want))
    return got == want or (math.isnan(got) and math.isnan(want))


# Bit for bit: each rounds between its steps, or does not, as PyTorch's kernel does.
FORWARD = {
    "sinc": lambda t, i: t.sinc(i.v),
    "xlogy": lambda t, i: t.xlogy(i.v, i.u),
    "xlog1py": lambda t, i: t.special.xlog1py(i.v, i.u),
    "entr": lambda t, i: t.special.entr(i.x),
    "nextafter": lambda t, i: t.nextafter(i.v, i.x),
    "nextafter_from_zero": lambda t, i: t.nextafter(i.v * 0, i.v),
    "div_trunc": lambda t, i: t.div(i.x, i.u, rounding_mode="trunc"),
    "log_softmax_of_rows": lambda t, i: t.log_softmax(i.m, 1),
    "log_softmax_of_columns": lambda t, i: t.log_softmax(i.m, 0),
    "logsumexp": lambda t, i: t.logsumexp(i.m, 1),
    "index_add": lambda t, i: t.zeros_like(i.m).index_add(0, t.arange(20) % 3, i.m),
    "scatter_add": lambda t, i: t.zeros_like(i.m).scatter_add(1, t.arange(400).view(20, 20) % 3, i.m),
    "addr": lambda t, i: t.addr(i.m, i.v[:20], i.x[:20], beta=0.6, alpha=0.2),
    "addbmm": lambda t, i: t.addbmm(i.m, i.b, i.b, beta=0.6, alpha=0.2),
    "histc": lambda t, i: t.histc(i.v, 50, -2, 2),
    "renorm": lambda t, i: t.renorm(i.m, 2, 0, 0.5),
    "adaptive_avg_pool3d": lambda t, i: t.nn.functional.adaptive_avg_pool3d(i.image, (1, 5, 3)),
    "prod": lambda t, i: i.m.prod(1),
    "linspace": lambda t, i: t.linspace(-2.0, 1, 50, dtype=i.x.dtype),
    "logspace": lambda t, i: t.logspace(4.3, -3, 2, dtype=i.x.dtype),
    "adaptive_avg_pool_to_one": lambda t, i: t.nn.functional.adaptive_avg_pool3d(i.image, 1),
    "conv_transpose_with_bias": lambda t, i: t.nn.functional.conv_transpose2d(i.image, i.weight, i.x[:3]),
    "binary_cross_entropy": lambda t, i: t.nn.functional.binary_cross_entropy(
        i.u, i.u.flip(0), reduction="none"
    ),
    "batch_norm": lambda t, i: t.nn.functional.batch_norm(i.image, None, None, i.x[:2], i.v[:2], True),
    "number_first": lambda t, i: 0.3 * i.v,
    "add_of_a_multiple": lambda t, i: t.add(i.v, i.x, alpha=0.1),
    "logit": lambda t, i: t.logit(i.u),
    "polygamma": lambda t, i: t.polygamma(3, i.x + 2),
    "group_norm": lambda t, i: t.nn.functional.group_norm(i.image, 1, i.x[:2], i.v[:2]),
    "batch_norm_of_strides": lambda t, i: t.nn.functional.batch_norm(
        i.image[..., ::2], None, None, i.x[:2], i.v[:2], True
    ),
    "batch_norm_of_strides_in_use": lambda t, i: t.nn.functional.batch_norm(
        i.image[..., ::2], i.v[:2], i.x[:2], i.x[2:4], i.v[2:4]
    ),
    "instance_norm_of_strides": lambda t, i: t.nn.functional.instance_norm(i.image[..., ::2]),
    "softmax_of_columns": lambda t, i: t.softmax(i.m, 0),
    "nll_loss": lambda t, i: t.nn.functional.nll_loss(i.b.view(60, 20), t.arange(60) % 20, i.x[:20]),
    "fold": lambda t, i: t.nn.functional.fold(t.nn.functional.unfold(i.image, 3), 8, 3),
    "segment_sum": lambda t, i: t.segment_reduce(i.m, "sum", lengths=t.tensor([3, 0, 17])),
    "segment_mean": lambda t, i: t.segment_reduce(i.m, "mean", lengths=t.tensor([3, 0, 17]), initial=1),
    "index_reduce_mean": lambda t, i: i.m[:5].index_reduce(0, t.arange(20) % 5, i.m, "mean"),
    "interpolate_lines": lambda t, i: t.nn.functional.interpolate(i.b, size=33, mode="linear"),
    "interpolate_volumes": lambda t, i: t.nn.functional.interpolate(
        i.b[None, None], size=(5, 9, 30), mode="trilinear", align_corners=True
    ),
    "interpolate_cubic": lambda t, i: t.nn.functional.interpolate(i.image, size=(11, 5), mode="bicubic"),
}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", FORWARD)
def test_halves_round_where_pytorch_rounds(name, dtype):
    want, got = (FORWARD[name](lib, inputs(lib, dtype)) for lib in (torch, ours))
    assert str(got.dtype) == str(want.dtype)
    assert same(got.float().tolist(), want.float().tolist())


# Of a function of two operands that require gradients.
GRADIENTS = {
    "erf": lambda t, i: t.erf(i.v),
    "rsqrt": lambda t, i: t.rsqrt(i.x),
    "atan2": lambda t, i: t.atan2(i.v, i.x),
    "hypot": lambda t, i: t.hypot(i.v, i.x),
    "xlogy": lambda t, i: t.xlogy(i.v, i.x),
    "fmod": lambda t, i: t.fmod(i.v, i.x),
    "ldexp": lambda t, i: t.ldexp(i.v, i.x),
    "addcdiv": lambda t, i: t.addcdiv(i.v, i.v, i.x, value=3.14),
    "lerp": lambda t, i: t.lerp(i.v, i.x, 0.3),
    "nextafter": lambda t, i: t.nextafter(i.v, i.x),
    "logsumexp": lambda t, i: t.logsumexp(i.m, 1),
    "renorm": lambda t, i: t.renorm(i.m, 2, 0, 0.5),
    "glu": lambda t, i: t.nn.functional.glu(i.m),
    "conv2d_of_images": lambda t, i: t.nn.functional.conv2d(i.b.view(3, 1, 20, 20), i.weight[:, :1]),
    "mse_loss": lambda t, i: t.nn.functional.mse_loss(i.m[:5], i.m[5:10]),
    "binary_cross_entropy": lambda t, i: t.nn.functional.binary_cross_entropy(i.u, i.u.detach().flip(0)),
    "binary_cross_entropy_with_logits": lambda t, i: t.nn.functional.binary_cross_entropy_with_logits(
        i.v, i.u
    ),
    "layer_norm": lambda t, i: t.nn.functional.layer_norm(i.m, (20,)),
    "max_pool2d": lambda t, i: t.nn.functional.max_pool2d(i.image, 3, 1),
    "embedding": lambda t, i: t.nn.functional.embedding(t.arange(60) % 3, i.m),
    "pad_by_the_edge": lambda t, i: t.nn.functional.pad(i.image, (2, 3, 1, 2), mode="replicate"),
    "pad_by_reflection": lambda t, i: t.nn.functional.pad(i.image, (2, 3, 1, 2), mode="reflect"),
    "unfold": lambda t, i: i.v.unfold(0, 3, 1),
    "index_select": lambda t, i: t.index_select(i.m, 1, t.tensor([2, 1, 2, 2])),
    "avg_pool2d": lambda t, i: t.nn.functional.avg_pool2d(i.image, 3, 1, 1),
    "adaptive_avg_pool2d": lambda t, i: t.nn.functional.adaptive_avg_pool2d(i.image, (5, 3)),
    "conv_transpose2d": lambda t, i: t.nn.functional.conv_transpose2d(i.image, i.weight),
    "unfold_of_images": lambda t, i: t.nn.functional.unfold(i.image, 3),
    "interpolate_cubic": lambda t, i: t.nn.functional.interpolate(i.image, size=(11, 5), mode="bicubic"),
    "huber_loss": lambda t, i: t.nn.functional.huber_loss(i.v[:25], i.x[:25], delta=2.3),
    "soft_margin_loss": lambda t, i: t.nn.functional.soft_margin_loss(i.v[:25], i.x[:25].detach()),
    "binary_cross_entropy_of_targets": lambda t, i: t.nn.functional.binary_cross_entropy(
        i.u[:25].detach(), i.u[25:50], reduction="none"
    ),
    "nll_loss": lambda t, i: t.nn.functional.nll_loss(i.b.view(60, 20), t.arange(60) % 20),
}


def gradients(lib, call, dtype: str) -> list[list]:
    """Of every operand, for the same cotangents under both."""
    i = inputs(lib, dtype)
    for t in vars(i).values():
        t.requires_grad_()
    out = call(lib, i)
    cotangents = torch.randn(out.shape, generator=torch.Generator().manual_seed(6))
    out.backward(lib.tensor(cotangents.tolist()).to(out.dtype))
    return [t.grad.float().tolist() for t in vars(i).values() if t.grad is not None]


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_of_halves_round_where_pytorchs_do(name, dtype):
    want, got = (gradients(lib, GRADIENTS[name], dtype) for lib in (torch, ours))
    assert got and same(got, want)


GRIDS = [(4, "bilinear"), (4, "nearest"), (4, "bicubic"), (5, "bilinear"), (5, "nearest")]


@pytest.mark.parametrize("dtype", [*HALVES, "float32"])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("dims, mode", GRIDS)
def test_grids_are_read_as_pytorch_reads_them(dims, mode, border, dtype):
    spatial, places = (6, 5, 9)[: dims - 2], (4, 7, 3)[: dims - 2]
    generator = torch.Generator().manual_seed(7)
    image = torch.randn(2, 3, *spatial, generator=generator).to(getattr(torch, dtype)).float()
    grid = (torch.rand(2, *places, dims - 2, generator=generator) * 3 - 1.5).to(getattr(torch, dtype)).float()
    for align_corners in (False, True):
        results = []
        for lib in (torch, ours):
            x, at = (
                lib.tensor(t.tolist(), dtype=getattr(lib, dtype), requires_grad=True) for t in (image, grid)
            )
            out = lib.nn.functional.grid_sample(x, at, mode, border, align_corners)
            out.backward(lib.ones_like(out))
            results.append([torch.tensor(t.detach().float().tolist()) for t in (out, x.grad, at.grad)])
        for got, want in zip(results[1], results[0], strict=True):
            assert torch.equal(got, want) if dtype in HALVES else torch.allclose(got, want, 1e-6, 1e-5)


# Of float32, in whose arithmetic rounding grows until it shows.
IN_FLOAT = {
    "hermite_polynomial_h": lambda t, i: t.special.hermite_polynomial_h(i.x, 9),
    "hermite_polynomial_he": lambda t, i: t.special.hermite_polynomial_he(i.x, 9),
    "laguerre_polynomial_l": lambda t, i: t.special.laguerre_polynomial_l(i.x, 9),
    "legendre_polynomial_p": lambda t, i: t.special.legendre_polynomial_p(i.x, 9),
    "histogram_of_weights": lambda t, i: t.histogram(i.v[:99], 3, weight=i.x[:99])[0],
    "layer_norm_of_one": lambda t, i: t.nn.functional.layer_norm(i.v[:, None], (1,), i.x[:1], i.v[:1]),
}


@pytest.mark.parametrize("name", IN_FLOAT)
def test_floats_round_where_pytorch_rounds(name):
    want, got = (IN_FLOAT[name](lib, inputs(lib, "float32")) for lib in (torch, ours))
    assert same(got.tolist(), want.tolist())


def test_gradients_of_ctc_loss():
    grads = []
    for lib in (torch, ours):
        x = inputs(lib, "float32").b.view(10, 6, 20).requires_grad_()
        labels = lib.arange(24).view(6, 4) % 3 + 1
        lengths, counts = (10, 7, 3, 10, 1, 10), (4, 3, 4, 0, 1, 2)  # the third has no alignment
        loss = lib.nn.functional.ctc_loss(
            lib.log_softmax(x, 2), labels, lengths, counts, reduction="none", zero_infinity=True
        )
        loss.sum().backward()
        grads.append(torch.tensor(x.grad.tolist()))
    assert torch.allclose(grads[1], grads[0], 1e-5, 1e-6)


@pytest.mark.parametrize("shape", [(0, 3, 3), (3, 0, 3)])
def test_gradients_of_places_in_nothing(shape):
    x = ours.zeros(shape, requires_grad=True)
    ours.nn.functional.pad(x, (1, 2), mode="circular").sum().backward()
    assert x.grad.shape == shape


@pytest.mark.parametrize("order", range(5))
def test_polygamma_has_the_error_of_pytorchs_factorial(order):
    want, got = (lib.polygamma(order, inputs(lib, "float32").x) for lib in (torch, ours))
    assert torch.allclose(torch.tensor(got.tolist()), want, rtol=1e-6, atol=1e-6)


# --- ties ----------------------------------------------------------------------------------------
TIES = {
    "sort": lambda t, x: t.sort(x)[1],
    "sort_descending": lambda t, x: t.sort(x, descending=True)[1],
    "sort_stable": lambda t, x: t.sort(x, stable=True)[1],
    "argsort": lambda t, x: t.argsort(x),
    "topk_few": lambda t, x: t.topk(x, 3)[1],
    "topk_smallest": lambda t, x: t.topk(x, 3, largest=False)[1],
    "topk_many": lambda t, x: t.topk(x, min(40, len(x)))[1],
    "topk_unsorted": lambda t, x: t.topk(x, 5, sorted=False)[1],
    "kthvalue": lambda t, x: t.kthvalue(x, 4)[1],
    "median": lambda t, x: t.median(x, 0)[1],
    "mode": lambda t, x: t.mode(x)[1],
}


@pytest.mark.parametrize("dtype", ["int64", "float32", "bfloat16"])
@pytest.mark.parametrize("name", TIES)
def test_of_equal_elements_the_same_one_is_found(name, dtype):
    for n in (5, 16, 17, 60, 1000):
        numbers = torch.randint(0, 7, (n,), generator=torch.Generator().manual_seed(n)).tolist()
        want, got = (TIES[name](lib, lib.tensor(numbers, dtype=getattr(lib, dtype))) for lib in (torch, ours))
        assert got.tolist() == want.tolist(), n


# --- other types ---------------------------------------------------------------------------------
CALLS = [
    "t.tensor([], dtype=t.int64).median()",
    "t.tensor([], dtype=t.int32).nanmedian()",
    "t.arange(-0.9, 2.1, 2.0, dtype=t.int64)",
    "t.arange(0.1, 3.7, 1, dtype=t.int64)",
    "t.arange(0.1, 3.7, 1, dtype=t.int32)",
    "t.logspace(0, 1.2, 4, 5.0, dtype=t.int64)",
    "t.linspace(4.3, -3, 50, dtype=t.int64)",
    "t.tensor(True).sum_to_size([])",
    "t.tensor([True, True]).sum_to_size([2])",
    "t.addr(t.ones(2, 2, dtype=t.bool), t.ones(2, dtype=t.bool), t.ones(2, dtype=t.bool), beta=3, alpha=2)",
    "t.addbmm(t.ones(2, 2, dtype=t.int64), *[t.ones(3, 2, 2, dtype=t.int64)] * 2, beta=0.6, alpha=1.2)",
    "t.as_strided_scatter(t.zeros(3, 6)[:, ::2], t.ones(2, 2), (2, 2), (1, 2), 1)",
    "t.logcumsumexp(t.tensor([1 + 7j, 2 - 1j, 0.5j, -3 + 4j]), 0)",
]


@pytest.mark.parametrize("call", CALLS)
def test_results_of_other_types(call):
    want, got = (eval(call, {"t": lib}) for lib in (torch, ours))
    assert str(got.dtype) == str(want.dtype)
    assert torch.allclose(torch.tensor(got.tolist()), torch.tensor(want.tolist()))


# Near the ends of a type's range, and around NaN.
EXTREMES = [
    *(f"t.tensor([[1e20, -1e20, 3e19]] * 3).{f}({d})" for f in ("std", "var") for d in ("0", "1", "")),
    "t.tensor([[1e18, -1e18, 3e17]] * 40).T.contiguous().var(0)",
    "t.tensor([1e-30, 3e-30, -2e-30]).std()",
    "t.stack(t.std_mean(t.tensor([3e38, 1e38, 2e38, -1e38])))",
    "t.stack(t.var_mean(t.tensor([[1e19, 2e19, 0], [0, 1, 2]]), 1))",
    "t.tensor([3e38, 1e38, 5e37, 1.0, -0.5, math.inf, math.nan]).log1p()",
    "t.tensor([1e308, 1e300], dtype=t.float64).log1p()",
    *(
        f"t.tensor([{x}, 1e18, 3.0, math.inf, math.nan] * 5, dtype=t.{d}).{f}()"
        for x, d in (("3e38, 2e19", "float32"), ("1e308, 1e160", "float64"), ("3e38, 2e19", "bfloat16"))
        for f in ("asinh", "acosh")
    ),
    "t.tensor([-3e38, -2e19, -1.0]).asinh()",
    *(
        f"t.stack([v.double() for v in t.tensor([{x}]).mode()])".replace("nan", "math.nan")
        for x in ("nan, 1.", "1., nan", "nan, nan, 1., 1.", "3., nan, 1.", "nan, 4, 5", "4, 5, nan, 4, 5")
    ),
    "t.tensor([1.1, -2.3, 65504]).half().histc(4)",
]


@pytest.mark.parametrize("call", EXTREMES)
def test_results_at_the_ends_of_ranges(call):
    want, got = (eval(call, {"t": lib, "math": math}).double() for lib in (torch, ours))
    assert torch.allclose(torch.tensor(got.tolist()), want.float(), rtol=1e-6, equal_nan=True, atol=0)


LAYOUTS = {
    "images": lambda t, x, w: t.nn.functional.conv2d(x.to(memory_format=t.channels_last), w),
    "weights": lambda t, x, w: t.nn.functional.conv2d(x, w.to(memory_format=t.channels_last)),
    "transposed": lambda t, x, w: t.nn.functional.conv_transpose2d(
        x.to(memory_format=t.channels_last), w[:2]
    ),
    "volumes": lambda t, x, w: t.nn.functional.conv3d(
        x[..., None].expand(2, 2, 4, 4, 4).contiguous(memory_format=t.channels_last_3d), w[..., None]
    ),
    "neither": lambda t, x, w: t.nn.functional.conv2d(x, w),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_convolutions_keep_channels_innermost(name):
    x = torch.randn(2, 2, 4, 4, generator=torch.Generator().manual_seed(8)).tolist()
    w = torch.randn(3, 2, 2, 2, generator=torch.Generator().manual_seed(9)).tolist()
    want, got = (LAYOUTS[name](lib, lib.tensor(x), lib.tensor(w)) for lib in (torch, ours))
    assert got.stride() == want.stride()
    assert torch.allclose(torch.tensor(got.tolist()), want, atol=1e-5)


def test_cumprod_through_zeros():
    rows = [[2.0, 3.0, 0.0, 4.0, 0.0, 5.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [1.5, 2.0, 3.0, 4.0, 5.0, 6.0]]
    grads = []
    for lib in (torch, ours):
        x = lib.tensor(rows, requires_grad=True)
        x.cumprod(1).backward(lib.tensor(rows) + 1)
        grads.append(torch.tensor(x.grad.tolist()))
    assert torch.allclose(*grads)


# Slopes at kinks, at infinities and at a point without one.
EDGES = {
    "selu": (lambda t, x: t.nn.functional.selu(x), [0.0, -0.0, 1.0, -1.0]),
    "elu": (lambda t, x: t.nn.functional.elu(x, 2.0), [0.0, 1.0, -1.0]),
    "logsigmoid": (lambda t, x: t.nn.functional.logsigmoid(x), [math.inf, -math.inf, 0.0]),
    "atan2": (lambda t, x: t.atan2(x, x * 0), [0.0, 1.0]),
    "log1p": (lambda t, x: t.log1p(x), [3e38, 1e12, 0.5, math.inf]),
    "asinh": (lambda t, x: t.asinh(x), [3e38, -3e38, 1e12, -0.5, math.inf]),
    "acosh": (lambda t, x: t.acosh(x), [3e38, 1e12, 1.5, math.inf]),
    "multi_margin_loss": (
        lambda t, x: t.nn.functional.multi_margin_loss(x[None], t.tensor([2])),
        [0.0, 1.0, 1.0, 2.0, 0.5],
    ),
    "multilabel_margin_loss": (
        lambda t, x: t.nn.functional.multilabel_margin_loss(x[None], t.tensor([[2, -1, 0]])),
        [0.0, 1.0, 1.0],
    ),
}


@pytest.mark.parametrize("name", EDGES)
def test_values_and_slopes_at_edges(name):
    call, values = EDGES[name]
    found = []
    for lib in (torch, ours):
        x = lib.tensor(values, requires_grad=True)
        y = call(lib, x)
        y.sum().backward()
        found.append([*y.reshape(-1).tolist(), *x.grad.tolist()])
    assert found[1] == pytest.approx(found[0], nan_ok=True)


def test_slopes_of_elu_pass_missing_numbers_on():
    x = ours.full((40,), math.nan, requires_grad=True)
    ours.nn.functional.elu(x).sum().backward()
    assert x.grad.isnan().all()


@pytest.mark.parametrize("name", ["relu", "threshold"])
def test_a_slope_of_steps_can_be_differentiated_again(name):
    found = []
    for lib in (torch, ours):
        x = lib.tensor([1.0, -1.0], requires_grad=True)
        y = x.relu() if name == "relu" else lib.nn.functional.threshold(x, 0.5, 2.0)
        (slope,) = lib.autograd.grad(y.sum(), x, create_graph=True)
        slope.sum().backward()
        found.append([slope.requires_grad, x.grad.tolist()])
    assert found[0] == found[1]
