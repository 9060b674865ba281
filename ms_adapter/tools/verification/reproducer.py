"""The first divergence as a script of a few lines with its inputs."""

from __future__ import annotations

import os

import numpy as np

from . import programs
from .blame import Culprit
from .chunks import Event
from .programs import Program
from .walk import Parting, Walk

_SCRIPT = '''"""{title}: run under PyTorch (python {file}) and under ms_adapter (ms-adapter run {file})."""
import os
from math import inf, nan

import numpy as np
import torch

saved = np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), "inputs.npz"))
t = [torch.from_numpy(saved[f"t{{i}}"]).to(getattr(torch, dtype)) for i, dtype in enumerate({dtypes})]
{lines}
print({compared})
for name in ("reference", "ours"):  # what each run got
    if name in saved:
        apart = np.abs({compared}.detach().to(torch.complex128).numpy().reshape(-1) - saved[name])
        print("largest distance to", name, np.max(apart, initial=0))
'''
_LEAVES = """def leaves(value):
    return [value] if torch.is_tensor(value) else [leaf for item in value for leaf in leaves(item)]

"""


def write_reproducer(folder: str, walk: Walk, parting: Parting, culprit: Culprit) -> str:
    """Writes `reproduce.py` and `inputs.npz`; the script's path, or "" where it cannot be repeated so."""
    found = _program(walk, parting, culprit)
    if found is None:
        return ""
    program, pair, theirs = found
    saved = dict(program.arrays)
    for name, chunk, number in zip(("reference", "ours"), walk.chunks, pair):
        value = chunk.array(number) if number is not None else None
        if value is not None:
            saved[name] = value
    os.makedirs(folder, exist_ok=True)
    np.savez(os.path.join(folder, "inputs.npz"), **saved)  # type: ignore[arg-type]
    path = os.path.join(folder, "reproduce.py")
    lines = [*program.lines[:-1], *([f"# the reference: {theirs}"] if theirs else []), program.lines[-1]]
    text = _SCRIPT.format(
        title=program.title, file="reproduce.py", dtypes=program.dtypes, lines="\n".join(lines),
        compared=program.compared,
    )  # fmt: skip
    if "leaves(" in program.compared:
        text = text.replace("saved = ", _LEAVES + "\nsaved = ", 1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


_Found = tuple[Program, tuple[int | None, int | None], str]  # with the values that part, and another call


def _program(walk: Walk, parting: Parting, culprit: Culprit) -> _Found | None:
    """What repeats a divergence."""
    if parting.ours is not None and parting.pair is not None and culprit.why in ("gradient", "itself"):
        if parting.backward is not None:
            return _of_gradient(walk, parting, parting.backward[1])
        if parting.ours["kind"] == "step":
            return _of_step(parting, walk)
    return _of_call(walk, parting, culprit)


def _of_gradient(walk: Walk, parting: Parting, backward: Event) -> _Found | None:
    assert parting.pair is not None
    values = programs.gradient_of(parting, 1, walk.ours_chunk)
    if len(values) != 1:
        return None
    users = [(e, e, g) for e, g in programs.users_of(values, walk.ours_chunk.events, backward)]
    program = programs.of_gradient(values.pop(), users, walk.ours_chunk) if users else None
    return (program, parting.pair, "") if program is not None else None


def _of_step(parting: Parting, walk: Walk) -> _Found | None:
    assert parting.ours is not None and parting.pair is not None
    name, key = programs.stepped(parting.what)
    if name is None:
        return None
    program = programs.of_step(parting.ours, parting.ours, walk.ours_chunk, name, key)
    return (program, parting.pair, "") if program is not None else None


def _of_call(walk: Walk, parting: Parting, culprit: Culprit) -> _Found | None:
    event, chunk = culprit.ours, walk.chunks[1]
    if event is None or event["kind"] != "op":
        event, chunk = culprit.reference, walk.chunks[0]
    if event is None or event["kind"] != "op":
        return None
    which = _parted_result(event, parting.pair[1 if event is culprit.ours else 0] if parting.pair else None)
    program = programs.of_call(event, event, chunk, event["ins"], which)
    if program is None:
        return None
    values = [
        made[which] if which < len(made := programs.results(own or {})) else None
        for own in (culprit.reference, culprit.ours)
    ]
    return program, (values[0], values[1]), _otherwise(event, culprit.reference)


def _parted_result(event: Event, number: int | None) -> int:
    """Which of its results parts; the first where what parts was made of them later."""
    made = programs.results(event)
    return made.index(number) if number in made else 0


def _otherwise(event: Event, reference: Event | None) -> str:
    """What the reference calls instead, if that differs."""
    if reference is None or reference is event or reference["kind"] != "op":
        return ""
    theirs = programs.call_text(reference)
    return theirs if theirs != programs.call_text(event) else ""
