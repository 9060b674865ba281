"""The first divergence as a script of a few lines with its inputs."""

from __future__ import annotations

import os

import numpy as np

from .blame import Culprit
from .chunks import Chunk, Event

_SCRIPT = '''"""{what}: run under PyTorch (python {file}) and under ms_adapter (ms-adapter run {file})."""
import os

import numpy as np
import torch

saved = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs.npz"))
t = [torch.from_numpy(saved[f"t{{i}}"]).to(getattr(torch, dtype)) for i, dtype in enumerate({dtypes})]
result = {call}
print(result)
for name in ("reference", "ours"):  # what each run got
    if name in saved:
        print(name, saved[name])
'''


def write_reproducer(
    folder: str, culprit: Culprit, reference: Chunk, ours: Chunk, pair: tuple[int, int] | None
) -> str:
    """Writes `reproduce.py` and `inputs.npz`; the script's path, or "" where a call cannot be repeated so."""
    event, chunk = culprit.ours, ours
    if event is None or event["kind"] != "op":
        event, chunk = culprit.reference, reference
    if event is None or event["kind"] != "op":
        return ""
    arrays = [chunk.whole(number) for number in event["ins"]]
    if any(array is None for array in arrays):
        return ""
    saved = {f"t{i}": array for i, array in enumerate(arrays)}
    if pair is not None:
        for name, side, number in (("reference", reference, pair[0]), ("ours", ours, pair[1])):
            value = side.whole(number)
            if value is not None:
                saved[name] = value
    os.makedirs(folder, exist_ok=True)
    np.savez(os.path.join(folder, "inputs.npz"), **saved)  # type: ignore[arg-type]
    path = os.path.join(folder, "reproduce.py")
    dtypes = [chunk.values[number].dtype for number in event["ins"]]
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            _SCRIPT.format(what=event["name"], file="reproduce.py", dtypes=dtypes, call=_call_text(event))
        )
    return path


def _call_text(event: Event) -> str:
    arguments = [f"{name}={text}" if name else text for name, text in event["arguments"]]
    function = event["function"]
    if function.endswith(".__get__"):
        return f"{arguments[0]}.{event['name']}"
    return f"{function}({', '.join(arguments)})"
