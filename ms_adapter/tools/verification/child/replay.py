"""Repeats an operator, a gradient or an optimizer's step on saved values, under this process's framework."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .perturb import Noise
from .render import tensors_in
from .values import plain_array

_NAMES = {"inf": float("inf"), "nan": float("nan")}  # as Python shows them


def replay(torch: Any, program: Mapping[str, Any], arrays: Mapping[str, Any], noise: int = 0) -> Any:
    """Run a program of a few lines; what it is to be compared by, as an array.

    Its tensors are `t[0]`, `t[1]`, ...; with `noise`, they are rounded otherwise.
    """
    tensors = [
        torch.from_numpy(arrays[f"t{i}"].copy()).to(getattr(torch, dtype))
        for i, dtype in enumerate(program["dtypes"])
    ]
    if noise:
        Noise(torch, noise).apply("inputs", (), tensors)
    names: dict[str, Any] = {**_NAMES, "torch": torch, "t": tensors, "saved": arrays}
    names["leaves"] = lambda value: list(tensors_in(value, lambda leaf: isinstance(leaf, torch.Tensor)))
    exec("\n".join(program["lines"]), names)
    return plain_array(torch, eval(program["compared"], names))


def serve_replays(torch: Any, folder: str, requests: int, answers: int) -> None:
    """For each byte of a pipe, run the program of that number in a folder; answer with a byte."""
    import json

    import numpy as np

    index = 0
    while os.read(requests, 1):
        base = os.path.join(folder, str(index))
        with open(base + ".json", encoding="utf-8") as file:
            program = json.load(file)
        try:
            with np.load(base + ".npz") as saved:
                arrays = dict(saved)
            found = {f"r{noise}": replay(torch, program, arrays, noise) for noise in program["noises"]}
            np.savez(base + ".results.npz", **found)
            answer = b"+"
        except Exception as error:  # whatever a call raises: it cannot be repeated
            print(f"replay {index}: {type(error).__name__}: {error}")
            answer = b"-"
        os.write(answers, answer)
        index += 1
