"""Runs a script as `ms-adapter run` does, or the same way with PyTorch, and notes its losses.

`python -m ecosystem.script_child SIDE float32|float64 NOTES SCRIPT [ARGS ...]`, where a side is "ours",
"converted" (a script that imports ms_adapter by its name), "torch" or one of the ways of scripts.py to run
PyTorch. A loss is what `backward()` was called on.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ecosystem.child import become_ours

SEED = 1
EPSILON = 2.0**-23
NOISE = np.random.default_rng(SEED)


def note_losses(
    torch: Any, losses: list[float], begun: list[float], after: Callable[[list[Any]], None] | None
) -> None:
    """Append the value of whatever `Tensor.backward` is called on to ``losses``.

    ``begun`` gets the time of the first call; ``after`` is given the leaves whose gradients a call wrote.
    """
    plain: Callable[..., Any] = torch.Tensor.backward

    def backward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not begun:
            begun.append(time.process_time())
        losses.append(float(self.detach().sum()))
        leaves = leaves_of(self) if after else []
        result = plain(self, *args, **kwargs)
        if after:
            after(leaves)
        return result

    torch.Tensor.backward = backward


def leaves_of(tensor: Any) -> list[Any]:
    """The leaves that a backward of ``tensor`` reaches."""
    found, seen, waiting = [], set(), [tensor.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        found += [node.variable] if hasattr(node, "variable") else []
        waiting += [following for following, _ in node.next_functions]
    return found


def nudge(leaves: list[Any]) -> None:
    """Change every gradient and every weight by up to one rounding of float32, up or down."""
    for leaf in leaves:
        for values in (leaf.grad, leaf.data):
            if values is not None and not values.is_sparse:
                noise = NOISE.uniform(-1, 1, tuple(values.shape))
                values.mul_(values.new_tensor(1 + EPSILON * noise))


def seed_everything(torch: Any) -> None:
    """The same numbers on both sides for a script that sets no seed of its own."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)


def main(side: str, dtype: str, notes: str, script: str, *args: str) -> None:
    start = time.process_time()
    losses: list[float] = []
    begun: list[float] = []
    from ms_adapter import run

    alone = side == "converted" and not Path(script).is_absolute()  # else a helper of ours: not converted
    if side == "ours" or (side == "converted" and not alone):
        become_ours()
    torch = importlib.import_module("ms_adapter.pytorch" if alone else "torch")
    note_losses(torch, losses, begun, nudge if side == "torch-nudged" else None)
    seed_everything(torch)
    if dtype == "float64":
        torch.set_default_dtype(torch.float64)
        torch.float, torch.Tensor.float = torch.float64, torch.Tensor.double  # scripts mean the default
    if side == "torch-old":
        torch.backends.mkldnn.enabled = False  # type: ignore[assignment]
    found: dict[str, Any] = {"losses": losses}
    try:
        run._run_script(script, list(args))
    finally:
        end = time.process_time()
        found["seconds"], found["loop"] = end - start, end - begun[0] if begun else 0.0
        if side == "ours":
            from ms_adapter.pytorch import _placeholders

            found["stubs"] = _placeholders.met()
        Path(notes).write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
