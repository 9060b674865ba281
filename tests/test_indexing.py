"""Random indices, read, assigned and differentiated: every result equals PyTorch's."""

from __future__ import annotations

import random

import numpy as np
import pytest

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch")

ENTRIES = {
    "int": lambda rng, n: str(rng.randint(-n, n - 1)),
    "slice": lambda rng, n: f"{bound(rng, n)}:{bound(rng, n)}:{rng.choice(['', '1', '2', '3'])}",
    "None": lambda rng, n: "None",
    "...": lambda rng, n: "...",
    "True": lambda rng, n: "True",
    "list": lambda rng, n: str([rng.randint(-n, n - 1) for _ in range(2)]),
    "long": lambda rng, n: f"t.tensor({[rng.randint(-n, n - 1) for _ in range(2)]})",
    "mask": lambda rng, n: f"t.tensor({[rng.random() < 0.5 for _ in range(n)]})",
    "0-d": lambda rng, n: f"t.tensor({rng.randint(-n, n - 1)})",
    "array": lambda rng, n: f"np.array({[rng.randint(-n, n - 1) for _ in range(2)]})",
    "numpy int": lambda rng, n: f"np.int64({rng.randint(-n, n - 1)})",
    "out of bounds": lambda rng, n: str(rng.choice([n, -n - 1])),
    "nested list": lambda rng, n: f"[[{rng.randint(-n, n - 1)}], [{rng.randint(-n, n - 1)}]]",
}
WITHOUT_DIM = {"None", "...", "True"}


def bound(rng: random.Random, n: int) -> str:
    return rng.choice(["", str(rng.randint(-n - 1, n + 1))])


def random_index(rng: random.Random, shape: list[int]) -> str:
    entries, dim = [], 0
    for _ in range(rng.randint(1, len(shape) + 1)):
        kind = rng.choice(list(ENTRIES))
        if kind == "..." and "..." in entries:
            continue
        entries.append(ENTRIES[kind](rng, shape[dim] if dim < len(shape) else 2))
        dim += kind not in WITHOUT_DIM
    return ", ".join(entries) or "..."


def read(t, shape: list[int], index: str) -> tuple:
    x = t.arange(int(np.prod(shape)), dtype=t.float32).reshape(shape)
    y = eval(f"x[{index}]", {"x": x, "t": t, "np": np})
    return tuple(y.shape), y.tolist(), y.storage_offset()


def differentiated(t, shape: list[int], index: str) -> list:
    x = t.arange(int(np.prod(shape)), dtype=t.float32).reshape(shape).requires_grad_()
    y = eval(f"x[{index}]", {"x": x, "t": t, "np": np})
    (y * y).sum().backward()
    return x.grad.tolist()


def assigned(t, shape: list[int], index: str) -> list:
    x = t.arange(int(np.prod(shape)), dtype=t.float32).reshape(shape)
    names = {"x": x, "t": t, "np": np}
    exec(f"v = 100.0 + t.arange(x[{index}].numel(), dtype=t.float32).reshape(x[{index}].shape)", names)
    exec(f"x[{index}] = v; x[{index}] *= 2; x[{index}] = 3 if x.sum() > 1e4 else v", names)
    return x.tolist()


def outcome(action, t, shape: list[int], index: str) -> tuple[str, object]:
    try:
        return "gives", action(t, shape, index)
    except Exception as error:
        return "raises", type(error).__name__


@pytest.mark.parametrize("action", [read, differentiated, assigned])
@pytest.mark.parametrize("seed", range(4))
def test_random_indices(action, seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        shape = [rng.randint(1, 4) for _ in range(rng.randint(0, 4))]
        index = random_index(rng, shape)
        expected = outcome(action, torch, shape, index)
        assert outcome(action, ours, shape, index) == expected, (shape, index)
