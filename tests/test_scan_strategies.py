"""What the scan tells to do about missing names: each has a way out, and those with code do as they say."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ms_adapter.pytorch as torch
from ms_adapter import cli
from ms_adapter.pytorch import _missing
from ms_adapter.tools.frame import ToolError
from ms_adapter.tools.scanning import api, compositions, skeleton
from ms_adapter.tools.scanning.strategies import (
    ASK,
    COMPOSITION,
    CUSTOM,
    EQUIVALENT,
    KINDS,
    issue,
    strategy,
)

real = pytest.importorskip("torch")
ENTRIES = [entry for present in (False, True) for entry in _missing.table(present).values()]


def test_every_missing_name_has_a_way_out() -> None:
    """Of absent.toml's entries, which cover every public name that is missing (tests/test_support.py)."""
    assert len(ENTRIES) > 150
    assert [e["names"] for e in ENTRIES if e["strategy"] not in KINDS] == []
    assert [e["names"] for e in ENTRIES if e["strategy"] != COMPOSITION and not e.get("use")] == []
    for present in (False, True):
        for name, entry in _missing.table(present).items():
            way = strategy(name.replace("*", "x")) if entry["strategy"] != COMPOSITION else None
            assert way is None or way.kind == entry["strategy"]
    custom = {e["use"] for e in ENTRIES if e["strategy"] == CUSTOM}
    assert [schema for schema in custom if skeleton.parsed("f" + schema).results == 0] == []


def test_equivalents_exist() -> None:
    named = {
        n for e in ENTRIES if e["strategy"] == EQUIVALENT for n in re.findall(r"torch(?:\.\w+)+", e["use"])
    }
    assert len(named) > 20
    assert [name for name in sorted(named) if api.face(name) is None] == []


def test_what_nobody_thought_of() -> None:
    assert strategy("torch.brand_new").kind == CUSTOM
    assert strategy("torch.distributed.fsdp.Brand").kind == ASK
    assert strategy("torch.quasirandom.SobolEngine") == strategy("torch.quasirandom")
    text = issue(
        "torch.package", "packing programs is not supported yet", [f"train.py:{k}" for k in range(12)]
    )
    assert text.startswith("Title: torch.package is missing\n")
    assert "- train.py:9\n- and 2 more\n" in text


def test_quasirandom_numbers_by_scipy() -> None:
    qmc = pytest.importorskip("scipy.stats").qmc
    theirs = real.quasirandom.SobolEngine(3).draw(8)
    same(torch.from_numpy(qmc.Sobol(3, scramble=False).random(8)).float(), theirs)


# --- compositions against PyTorch ---------------------------------------------------------------------
def values(*shape: int, seed: int = 0) -> Any:
    return real.randn(*shape, generator=real.Generator().manual_seed(seed))


X, W, B, GRAD = values(2, 3, 6, 6), values(4, 3, 3, 3, seed=1), values(4, seed=2), values(2, 3, 6, 6, seed=3)
C = values(3, seed=4)
CONV = ([1, 2], [1, 1], [1, 1], 1)  # stride, padding, dilation, groups


def stats(x: Any = X, eps: float = 1e-5) -> tuple[Any, Any]:
    var, mean = real.var_mean(x, (0, 2, 3), correction=0)
    return mean, (var + eps).rsqrt()


def gathered() -> tuple[list[Any], list[Any]]:
    """Two processes' shares of X: what each saw, and what all of it gives."""
    halves = [stats(X[:1, :, :4]), stats(real.cat([X[:1, :, 4:].flatten(2), X[1:].flatten(2)], 2)[..., None])]
    mean, invstd = (real.stack(column) for column in zip(*halves))
    counts = real.tensor([24.0, 48.0])
    ours = [X, mean, invstd, real.zeros(3), real.ones(3), 0.1, 1e-5, counts]
    running = [real.zeros(3), real.ones(3)]
    real.nn.functional.batch_norm(X, *running, training=True, momentum=0.1)
    return ours, [*stats(), *running]


def through_batch_norm() -> list[Any]:
    """The gradients of PyTorch's batch norm, and those of the bias and the weight by the sums."""
    x, weight, bias = X.clone().requires_grad_(), C.clone().requires_grad_(), C.clone().requires_grad_()
    real.nn.functional.batch_norm(x, None, None, weight, bias, training=True).backward(GRAD)
    return [x.grad, weight.grad, bias.grad]


def reduced() -> tuple[Any, Any]:
    mean, _ = stats()
    return GRAD.sum((0, 2, 3)), (GRAD * (X - mean.view(1, 3, 1, 1))).sum((0, 2, 3))


def quantized(x: Any = X) -> Any:
    return real.quantize_per_tensor(x, 0.05, 100, real.quint8)


def updated(function: Callable, x: Any) -> list[Any]:
    running = [x.new_zeros(3), x.new_ones(3)]
    return [*function(x, *running, 0.1), *running]


def sparse(values_: list[float], places: list[list[int]], shape: tuple[int, int]) -> tuple[Any, Any]:
    return tuple(t.sparse_coo_tensor(places, values_, shape) for t in (torch, real))  # type: ignore[return-value]


def resized(function: Callable, library: Any) -> Any:
    small, large = (library.sparse_coo_tensor([[0, 1], [0, k]], [1.0, 2.0], (2, k + 1)) for k in (1, 4))
    return function(small, large).to_dense()


SCALES, POINTS = real.tensor([0.1, 0.2, 0.3]), real.tensor([0, 1, 2], dtype=real.int32)
MATRICES = (values(8, 16).bfloat16(), values(2, 16, 16).bfloat16(), real.tensor([3, 8], dtype=real.int32))


def convolved(alpha: float = 0.0) -> Any:
    return real.relu(real.conv2d(X, W, B, *CONV) + alpha)


# Function -> (its arguments, what PyTorch gives); arguments and results are PyTorch's tensors.
CASES: dict[str, Callable[[], tuple[list[Any], Any]]] = {
    "cudnn_convolution_relu": lambda: ([X, W, B, *CONV], convolved()),
    "cudnn_convolution_add_relu": lambda: ([X, W, real.ones(1), 0.5, B, *CONV], convolved(0.5)),
    "mkldnn_convolution": lambda: (
        [X, W, B, [1, 1], [1, 2], [1, 1], 1],
        real.mkldnn_convolution(X, W, B, [1, 1], [1, 2], [1, 1], 1),
    ),
    "mkldnn_linear_backward_weights": lambda: (
        [X[:, 0], X[:, 1], W, True],
        [real.einsum("bij,bik->jk", X[:, 0], X[:, 1]), X[:, 0].sum((0, 1))],
    ),
    "batch_norm_stats": lambda: ([X, 1e-5], list(stats())),
    "batch_norm_elemt": lambda: (
        [X, C, C, *stats(), 1e-5],
        real.nn.functional.batch_norm(X, None, None, C, C, training=True),
    ),
    "batch_norm_backward_reduce": lambda: (
        [GRAD, X, *stats(), C, True, True, True],
        [*reduced(), *through_batch_norm()[1:]],
    ),
    "batch_norm_backward_elemt": lambda: (
        [GRAD, X, *stats(), C, *reduced(), real.tensor([24, 48])],
        through_batch_norm()[0],
    ),
    "fake_quantize_per_tensor_affine": lambda: (
        [X, 0.1, 3, -8, 7],
        real.fake_quantize_per_tensor_affine(X, 0.1, 3, -8, 7),
    ),
    "fake_quantize_per_channel_affine": lambda: (
        [X, SCALES, POINTS, 1, -8, 7],
        real.fake_quantize_per_channel_affine(X, SCALES, POINTS, 1, -8, 7),
    ),
    "quantize_per_tensor": lambda: ([X, 0.05, 100], quantized().int_repr()),
    "quantize_per_channel": lambda: (
        [X, SCALES, POINTS, 1],
        real.quantize_per_channel(X, SCALES, POINTS, 1, real.qint8).int_repr(),
    ),
    "quantized_batch_norm": lambda: (
        [quantized().int_repr(), 0.05, 100, C, C, real.zeros(3), real.ones(3), 1e-5, 0.04, 90],
        real.quantized_batch_norm(quantized(), C, C, real.zeros(3), real.ones(3), 1e-5, 0.04, 90).int_repr(),
    ),
    "grouped_mm": lambda: (
        list(MATRICES[:2]) + [{"offs": MATRICES[2]}],
        real.nn.functional.grouped_mm(*MATRICES[:2], offs=MATRICES[2]),
    ),
}


def given(value: Any) -> Any:
    """PyTorch's tensors as ours."""
    return torch.from_dlpack(value.detach()) if isinstance(value, real.Tensor) else value


def same(ours: Any, theirs: Any) -> None:
    if isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs):
            same(a, b)
    elif isinstance(theirs, real.Tensor):
        assert tuple(ours.shape) == tuple(theirs.shape)
        assert str(ours.dtype) == str(theirs.dtype)
        tolerance = 2e-2 if theirs.dtype == real.bfloat16 else 2e-6
        real.testing.assert_close(
            real.from_dlpack(ours.detach()), theirs, atol=tolerance, rtol=tolerance, check_device=False
        )
    else:
        assert ours == pytest.approx(theirs)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_compositions(name: str) -> None:
    arguments, expected = CASES[name]()
    keywords = arguments.pop() if isinstance(arguments[-1], dict) else {}
    ours = getattr(compositions, name)(*map(given, arguments), **{k: given(v) for k, v in keywords.items()})
    same(ours, expected)


@pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning")
def test_the_others() -> None:
    """Compositions that write into their arguments, choose by data or need tensors of their own kind."""
    same(updated(compositions.batch_norm_update_stats, given(X)), updated(real.batch_norm_update_stats, X))
    arguments, expected = gathered()
    ours = [given(a) for a in arguments]
    same([*compositions.batch_norm_gather_stats_with_counts(*ours), *ours[3:5]], expected)
    dynamic = real.quantize_per_tensor_dynamic(X, real.quint8, False)
    expected_ = [dynamic.int_repr(), dynamic.q_scale(), dynamic.q_zero_point()]
    same(compositions.quantize_per_tensor_dynamic(given(X)), expected_)
    same(resized(compositions.resize_as_sparse_, torch), resized(real.resize_as_sparse_, real))
    x = given(X).clone()
    same(compositions.slice_inverse(x[:, 1:2], x, 1, 1), real.slice_inverse(X[:, 1:2], X, 1, 1))
    matrix = values(3, 3) + 3 * real.eye(3)
    same(compositions.spsolve(given(matrix).to_sparse_csr(), given(C)), real.linalg.solve(matrix, C))


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_gradients_of_fake_quantization() -> None:
    for name in ("fake_quantize_per_tensor_affine", "fake_quantize_per_channel_affine"):
        arguments, _ = CASES[name]()
        ours, theirs = given(X).clone().requires_grad_(), X.clone().requires_grad_()
        getattr(compositions, name)(ours, *map(given, arguments[1:])).sum().backward()
        getattr(real, name)(theirs, *arguments[1:]).sum().backward()
        same(ours.grad, theirs.grad)


def test_all_compositions_are_compared() -> None:
    here = Path(__file__).read_text()
    used = {
        strategy(name).use
        for present in (False, True)
        for name, entry in _missing.table(present).items()
        if entry["strategy"] == COMPOSITION and "*" not in name
    }
    assert len(used) > 15
    assert [
        name for name in sorted(used) if f'"{name}": ' not in here and f"compositions.{name}" not in here
    ] == []


# --- skeletons ----------------------------------------------------------------------------------------
def test_schemas() -> None:
    found = skeleton.parsed(
        "f(Tensor self, Tensor? w, int[] dims=[], *, float alpha=1.0) -> (Tensor, Tensor)"
    )
    assert [name for _, name in found.parameters] == ["self", "w", "dims", "alpha"]
    assert found.results == 2
    assert skeleton.schema_of("torch.choose_qparams_optimized").startswith(
        "choose_qparams_optimized(Tensor input, int"
    )
    for bad in ("f(Tensor x)", "f(int n) -> Tensor", "f(Tensor x, Layout y) -> Tensor"):
        with pytest.raises(ToolError):
            skeleton.parsed(bad)


def test_a_skeleton_compiles_raises_and_computes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MS_ADAPTER_EXTENSIONS_DIR", str(tmp_path / "built"))
    monkeypatch.syspath_prepend(str(tmp_path / "own"))
    asked = ["scan", "--skeleton", "torch.cube_up", "-o", str(tmp_path / "own"), "--json"]
    schema = ["--schema", "cube_up(Tensor x, float out=1.0, *, bool flag=False) -> Tensor"]
    assert cli.main([*asked, *schema]) == 0
    assert cli.main([*asked, *schema]) == 2  # it is there
    capsys.readouterr()
    import cube_up  # type: ignore[import-not-found]

    with pytest.raises(RuntimeError, match=skeleton.NOT_YET):
        cube_up.cube_up(torch.ones(2))
    source = tmp_path / "own" / "cube_up.cpp"
    forward, backward = (
        "to[i] = out_ * from[i] * from[i] * from[i];",
        ("to[i] = from[i] * 3 * out_ * x.data<T>()[i] * x.data<T>()[i];"),
    )
    text = source.read_text()
    line = re.compile(r"^ *throw std::logic_error.*$", re.M)
    assert len(line.findall(text)) == 2
    source.write_text(line.sub(backward, line.sub(forward, text, count=1), count=1))
    monkeypatch.delitem(sys.modules, "cube_up")
    module = tmp_path / "own" / "cube_up.py"
    module.write_text(module.read_text().replace("skeleton_cube_up", "written_cube_up"))
    import cube_up

    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    assert cube_up.cube_up(x, 0.5).tolist() == [0.5, -4.0]
    assert torch.autograd.gradcheck(lambda t: cube_up.cube_up(t, 0.5), (x,))
