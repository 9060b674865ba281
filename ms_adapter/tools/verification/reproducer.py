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
{before}result = {call}
print(result)
for name in ("reference", "ours"):  # what each run got
    if name in saved:
        apart = np.abs({compared}.to(torch.complex128).numpy() - saved[name])
        print("largest distance to", name, np.max(apart, initial=0))
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
    if "stream" in event:
        saved["stream"] = np.frombuffer(event["stream"], np.uint8)
    which = _parted_result(event, pair[1 if event is culprit.ours else 0] if pair is not None else None)
    for name, own, side in (("reference", culprit.reference, reference), ("ours", culprit.ours, ours)):
        value = side.whole(_results(own)[which]) if own is not None and which < len(_results(own)) else None
        if value is not None:
            saved[name] = value
    os.makedirs(folder, exist_ok=True)
    np.savez(os.path.join(folder, "inputs.npz"), **saved)  # type: ignore[arg-type]
    path = os.path.join(folder, "reproduce.py")
    dtypes = [chunk.values[number].dtype for number in event["ins"]]
    with open(path, "w", encoding="utf-8") as file:
        file.write(
            _SCRIPT.format(
                what=event["name"],
                file="reproduce.py",
                dtypes=dtypes,
                before=_before_call(event, culprit.reference),
                call=_call_text(event),
                compared=_result_text(event, which),
            )
        )
    return path


def _results(event: Event) -> list[int]:
    """Values that an operator made: its outputs, then what it changed in place."""
    return [*event.get("outs", ()), *(number for _, number in event.get("changed", ()))]


def _parted_result(event: Event, number: int | None) -> int:
    """Which of its results parts; the first where what parts was made of them later."""
    results = _results(event)
    return results.index(number) if number in results else 0


def _result_text(event: Event, which: int) -> str:
    outs = len(event["outs"])
    if which >= outs:
        return f"t[{event['changed'][which - outs][0]}]"
    return "result" if outs == 1 else f"result[{which}]"


def _before_call(event: Event, reference: Event | None) -> str:
    """Lines that restore the stream of random numbers, and say what the reference called instead."""
    lines = ""
    if "stream" in event:
        lines += 'torch.set_rng_state(torch.from_numpy(saved["stream"]))\n'
    if reference is not None and reference is not event and reference["kind"] == "op":
        theirs = _call_text(reference)
        if theirs != _call_text(event):
            lines += f"# the reference: {theirs}\n"
    return lines


def _call_text(event: Event) -> str:
    arguments = [f"{name}={text}" if name else text for name, text in event["arguments"]]
    function = event["function"]
    if function.endswith(".__get__"):
        return f"{arguments[0]}.{event['name']}"
    return f"{function}({', '.join(arguments)})"
