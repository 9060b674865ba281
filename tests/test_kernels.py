"""The CPU engine: instruction sets agree, positions and strides do not matter."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest

import ms_adapter.pytorch as torch
from ms_adapter import _C

EXACT = [
    "add",
    "mul",
    "div",
    "sqrt",
    "floor",
    "maximum",
    "remainder",
    "relu",
    "gt",
    "bfloat16",
    "cumsum",
    "sort",
]
ROUNDED = [
    "exp",
    "log1p",
    "sin",
    "tanh",
    "erf",
    "pow",
    "sum",
]  # another order or no fused multiply-add: last bits

ISA_SCRIPT = """
import sys, numpy as np, ms_adapter.pytorch as torch
rng = np.random.default_rng(7)
a, b = (torch.from_numpy(rng.standard_normal((37, 53)).astype("float32")) for _ in range(2))
results = {
    "add": a + b, "mul": a * b, "div": a / b, "sqrt": a.abs().sqrt(), "floor": a.floor(),
    "maximum": torch.maximum(a, b), "remainder": a.remainder(b), "relu": a.relu(), "gt": a > b,
    "bfloat16": (a.bfloat16() + b.bfloat16()).float(), "cumsum": a.cumsum(1), "sort": a.sort(0)[0],
    "exp": a.exp(), "log1p": a.abs().log1p(), "sin": a.sin(), "tanh": a.tanh(), "erf": a.erf(),
    "pow": a.abs() ** b, "sum": a.abs().sum(1),
}
np.savez(sys.argv[1], **{name: value.numpy() for name, value in results.items()})
"""


def results_on(isa: str, path: str) -> dict[str, np.ndarray]:
    subprocess.run(
        [sys.executable, "-c", ISA_SCRIPT, path], check=True, env={**os.environ, "MS_ADAPTER_ISA": isa}
    )
    with np.load(path) as file:
        return dict(file)


@pytest.fixture(scope="module")
def by_isa(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, np.ndarray]]:
    folder = tmp_path_factory.mktemp("isa")
    return {isa: results_on(isa, str(folder / f"{isa}.npz")) for isa in ("base", "avx2", "avx512")}


@pytest.mark.parametrize("name", EXACT)
def test_instruction_sets_agree_exactly(by_isa: dict[str, dict[str, np.ndarray]], name: str) -> None:
    for isa in ("avx2", "avx512"):
        np.testing.assert_array_equal(by_isa[isa][name], by_isa["base"][name])


@pytest.mark.parametrize("name", ROUNDED)
def test_instruction_sets_agree_to_the_last_bits(by_isa: dict[str, dict[str, np.ndarray]], name: str) -> None:
    for isa in ("avx2", "avx512"):
        np.testing.assert_array_max_ulp(by_isa[isa][name], by_isa["base"][name], maxulp=4)


def functions_using(register: str, objdump: str) -> set[str]:
    """Demangled names of the module's functions whose code names a vector register."""
    code = subprocess.run(
        [objdump, "-dC", "--no-show-raw-insn", _C.__file__], check=True, capture_output=True, text=True
    ).stdout
    found, name = set(), ""
    for line in code.splitlines():
        if line.endswith(">:"):
            name = line
        elif register in line:
            found.add(name)
    return found


@pytest.mark.slow
def test_wide_instructions_stay_in_their_namespace() -> None:
    """A template shared with baseline code can carry AVX-512 into it; older machines then die on it."""
    objdump = shutil.which("objdump")
    if objdump is None:
        pytest.skip("objdump (binutils) is not installed")
    # What is in an anonymous namespace is not shared between files, so it cannot leak.
    allowed = {"%zmm": r"avx512|\(anonymous", "%ymm": r"avx|\(anonymous"}
    if not functions_using("push", objdump):
        pytest.skip("the module is stripped")
    for register, namespace in allowed.items():
        strays = [name for name in functions_using(register, objdump) if not re.search(namespace, name)]
        assert not strays, strays[:5]


def test_results_do_not_depend_on_position() -> None:
    x = torch.from_numpy(np.linspace(-3, 3, 101, dtype=np.float32))
    whole = x.exp().numpy()
    for begin in range(0, 40, 3):
        np.testing.assert_array_equal(x[begin : begin + 17].exp().numpy(), whole[begin : begin + 17])
    np.testing.assert_array_equal(x[::7].exp().numpy(), whole[::7])


@pytest.mark.parametrize("shape", [(3, 5, 7), (64, 65), (1, 9), (200, 300), (0, 4)])
def test_walker_takes_any_strides(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(1)
    a, b = rng.standard_normal(shape), rng.integers(-5, 5, shape[::-1]).astype(np.int32)
    got = torch.from_numpy(a) + torch.from_numpy(b).permute(*reversed(range(len(shape))))
    np.testing.assert_allclose(got.numpy(), a + b.T)
    row = torch.from_numpy(a[..., :1].astype(np.float32)).expand(*shape)
    np.testing.assert_allclose((row * torch.from_numpy(a)).numpy(), a[..., :1].astype(np.float32) * a)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (1, 2, 0)])
def test_reductions_take_any_strides(axis: int | tuple[int, ...], order: tuple[int, ...]) -> None:
    a = np.random.default_rng(2).standard_normal((33, 17, 70))
    t = torch.from_numpy(a).permute(*order)
    view = a.transpose(order)
    np.testing.assert_allclose(t.sum(axis).numpy(), view.sum(axis), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(t.amax(axis).numpy(), view.max(axis))
    np.testing.assert_allclose(t.var(axis).numpy(), view.var(axis, ddof=1), rtol=1e-12)
    if isinstance(axis, int):
        np.testing.assert_array_equal(t.argmax(axis).numpy(), view.argmax(axis))


def test_float_sums_are_accurate() -> None:
    a = np.random.default_rng(3).random((1 << 20,), dtype=np.float32)
    exact = a.astype(np.float64).sum()
    assert abs(torch.from_numpy(a).sum().item() - exact) / exact < 2e-7
    by_column = torch.from_numpy(a.reshape(-1, 4)).sum(0).numpy()
    np.testing.assert_allclose(by_column, a.reshape(-1, 4).astype(np.float64).sum(0), rtol=2e-7)


@pytest.mark.parametrize("turned", ["neither", "left", "right"])
def test_long_products_are_accurate(turned: str) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random((8, 6000), dtype=np.float32), rng.random((6000, 16), dtype=np.float32)
    left, right = (np.asfortranarray(m) if turned == side else m for m, side in ((a, "left"), (b, "right")))
    product = (torch.from_numpy(left) @ torch.from_numpy(right)).numpy()
    np.testing.assert_allclose(product, a.astype(np.float64) @ b.astype(np.float64), rtol=5e-7)


def test_integer_division_by_zero_raises() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        torch.ones(3, dtype=torch.int64) // torch.zeros(3, dtype=torch.int64)
    assert (torch.ones(3, dtype=torch.int64) // 1).tolist() == [1, 1, 1]  # the failure does not linger
