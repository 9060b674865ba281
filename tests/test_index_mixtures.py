"""Brackets over permuted tensors, with index tensors that broadcast and masks of up to two dimensions."""

from __future__ import annotations

import random

import pytest

import ms_adapter.pytorch as ours

torch = pytest.importorskip("torch")


def random_index(choose: random.Random, sizes: list[int]) -> list:
    """An index for a tensor of these sizes; ("ints", list) and ("mask", list) become tensors."""
    index: list = []
    shape = [choose.choice([1, 2, 3]) for _ in range(choose.choice([0, 1, 1, 2]))]
    d = 0
    while d < len(sizes):
        kind, n = choose.random(), sizes[d]
        if kind < 0.35:
            own = [s if choose.random() < 0.8 else 1 for s in shape]
            beyond = 10 if choose.random() < 0.03 else 0
            index.append(("ints", nested(own, lambda n=n, beyond=beyond: choose.randrange(-n, n) + beyond)))
        elif kind < 0.45:
            index.append(("mask", nested([n], lambda: choose.random() < 0.5)))
        elif kind < 0.5 and d + 1 < len(sizes):
            index.append(("mask", nested(sizes[d : d + 2], lambda: choose.random() < 0.5)))
            d += 1
        elif kind < 0.8:
            start, stop = choose.choice([None, 0, 1, -1]), choose.choice([None, 2, -1])
            index.append(slice(start, stop, choose.choice([None, 1, 2])))
        elif kind < 0.85:
            index.append(None)
            continue
        elif kind < 0.92:
            index.append(choose.randrange(-n, n))
        elif kind < 0.95:
            break
        else:
            index.append(True)
            continue
        d += 1
    return index


def nested(sizes: list[int], value):
    return [nested(sizes[1:], value) for _ in range(sizes[0])] if sizes else value()


def outcome(lib, sizes: list[int], order: list[int], index: list, assign: bool):
    count = 1
    for n in sizes:
        count *= n
    x = lib.arange(count).reshape(sizes).permute(order)
    entries = tuple(lib.tensor(e[1]) if isinstance(e, tuple) else e for e in index)
    try:
        if assign:
            x = x.clone()
            x[entries] = 7
            return x.tolist()
        got = x[entries]
    except Exception as err:  # noqa: BLE001 - any error is an answer here
        return type(err).__name__
    return tuple(got.shape), got.tolist()


@pytest.mark.parametrize("seed", range(8))
def test_brackets_give_and_take_what_pytorchs_do(seed):
    choose = random.Random(seed)
    for _ in range(150):
        sizes = [choose.choice([1, 2, 3, 4]) for _ in range(choose.choice([1, 2, 3, 4]))]
        order = choose.sample(range(len(sizes)), len(sizes))
        index = random_index(choose, [sizes[d] for d in order])
        for assign in (False, True):
            expected = outcome(torch, sizes, order, index, assign)
            assert outcome(ours, sizes, order, index, assign) == expected, (sizes, order, index, assign)
