"""A few lines that repeat an operator, a gradient or an optimizer's step on what a run had."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .chunks import Chunk, Event
from .walk import Parting

_TENSOR = re.compile(r"\bt\[(\d+)\]")


@dataclass
class Program:
    """Lines over tensors `t[0]`, `t[1]`, ...; the expression that is compared; what it was in that run."""

    title: str
    lines: list[str]
    compared: str
    arrays: dict[str, np.ndarray]
    dtypes: list[str]


class _Tensors:
    """Those of a program, numbered as they come."""

    def __init__(self, chunk: Chunk) -> None:
        self._chunk = chunk
        self._at: dict[int, int] = {}
        self.arrays: dict[str, np.ndarray] = {}
        self.dtypes: list[str] = []

    def add(self, number: int, flat: bool = False) -> int | None:
        """The place of a value; None if not all of it was kept (`flat`: what was kept will do)."""
        if number not in self._at:
            array = self._chunk.array(number) if flat else self._chunk.whole(number)
            if array is None:
                return None
            self._at[number] = len(self.dtypes)
            self.arrays[f"t{self._at[number]}"] = np.array(array)
            self.dtypes.append(self._chunk.values[number].dtype)
        return self._at[number]

    def call(self, text: Event, inputs: Sequence[int]) -> list[str] | None:
        """Lines of a call, its tensors being these values."""
        places = [self.add(number) for number in inputs]
        if None in places:
            return None
        call = _TENSOR.sub(lambda found: f"t[{places[int(found[1])]}]", call_text(text))
        lines = [f"result = {call}"]
        if "autocast" in text:
            lines = [f'with torch.autocast("cpu", dtype={text["autocast"]}):', "    " + lines[0]]
        return lines


def results(event: Event) -> list[int]:
    """Values that an operator made: its outputs, then what it changed in place."""
    return [*event.get("outs", ()), *(number for _, number in event.get("changed", ()))]


def of_call(event: Event, text: Event, chunk: Chunk, inputs: Sequence[int], which: int) -> Program | None:
    """The operator of `event` as `text` calls it, and its result of index `which`."""
    tensors = _Tensors(chunk)
    for number in inputs:  # the text's numbers are theirs
        tensors.add(number)
    lines = tensors.call(text, inputs)
    if lines is None:
        return None
    if "stream" in event:
        tensors.arrays["stream"] = np.frombuffer(event["stream"], np.uint8)
        lines.insert(0, 'torch.set_rng_state(torch.from_numpy(saved["stream"].copy()))')
    outs = len(event["outs"])
    if which >= outs:
        place = tensors.add(inputs[event["changed"][which - outs][0]])
        compared = f"t[{place}]"
    else:
        compared = "result" if outs == 1 else f"leaves(result)[{which}]"
    return Program(event["name"], lines, compared, tensors.arrays, tensors.dtypes)


def of_gradient(
    value: int, users: Sequence[tuple[Event, Event, int]], chunk: Chunk, before: int | None = None
) -> Program | None:
    """What comes back to a value from the operators that use it: (event, as it is called, its gradient).

    `before` is a gradient that it had already.
    """
    tensors = _Tensors(chunk)
    if tensors.add(value) is None:
        return None
    lines = ["t[0].requires_grad_()"]
    if before is not None:
        lines.append(f"t[0].grad = t[{tensors.add(before)}]")
    for event, text, gradient in users:
        call, place = tensors.call(text, event["ins"]), tensors.add(gradient)
        if call is None or place is None:
            return None
        if "stream" in event:
            tensors.arrays["stream"] = np.frombuffer(event["stream"], np.uint8)
            lines.append('torch.set_rng_state(torch.from_numpy(saved["stream"].copy()))')
        lines += [*call, f"result.backward(t[{place}])"]
    name = "the gradient of " + ", ".join(dict.fromkeys(event["name"] for event, _, _ in users))
    return Program(name, lines, "t[0].grad", tensors.arrays, tensors.dtypes)


def of_step(event: Event, text: Event, chunk: Chunk, name: str, key: str | None) -> Program | None:
    """An optimizer's step on one parameter, with the settings of `text`; its result or its state `key`."""
    names = [own for own, _ in event["parameters"]]
    values, gradients = dict(event["parameters_before"]), dict(event["gradients"])
    if name not in gradients or name not in values or names.count(name) != 1:
        return None
    settings = text["groups"][_group(event["members"], names.index(name))]
    tensors = _Tensors(chunk)
    if None in (tensors.add(values[name], flat=True), tensors.add(gradients[name], flat=True)):
        return None
    states = []
    for full, number in event["states_before"]:
        owner, _, state = full.partition(": ")
        if owner == name:
            states.append(f"{state!r}: t[{tensors.add(number, flat=True)}]")
    rate = f", lr={settings['lr']}" if "lr" in settings else ""
    unset = ("None", "False")  # what all optimizers have by default
    told = ", ".join(f"{setting!r}: {value}" for setting, value in settings.items() if value not in unset)
    lines = [
        "p = torch.nn.Parameter(t[0])",
        "p.grad = t[1]",
        f"optimizer = torch.optim.{event['name']}([p]{rate})",
        f"optimizer.param_groups[0].update({{{told}}})",
    ]
    if states:
        lines.append(f"optimizer.state[p].update({{{', '.join(states)}}})")
    lines.append("optimizer.step()")
    compared = "p" if key is None else f"optimizer.state[p][{key!r}]"
    title = f"a step of {event['name']} on {name}"
    return Program(title, lines, compared, tensors.arrays, tensors.dtypes)


def _group(members: Sequence[int], index: int) -> int:
    for group, size in enumerate(members):
        if index < size:
            return group
        index -= size
    return len(members) - 1


def call_text(event: Event) -> str:
    """The call of an operator, its tensors in the order of its inputs."""
    arguments = [f"{name}={text}" if name else text for name, text in event["arguments"]]
    function = event["function"]
    if function.endswith(".__get__"):
        return f"{arguments[0]}.{event['name']}"
    return f"{function}({', '.join(arguments)})"


def users_of(values: set[int], events: Sequence[Event], backward: Event) -> list[tuple[Event, int]]:
    """Operators that take a value and got a gradient in a backward pass: (event, its gradient)."""
    flow = {event: number for event, slot, number in backward["flow"] if slot == 0}
    return [
        (event, flow[event["number"]])
        for event in events
        if event["kind"] == "op" and event["number"] in flow and any(v in values for v in event["ins"])
    ]


def gradient_of(parting: Parting, side: int, chunk: Chunk) -> set[int]:
    """The values whose gradient parts: what an operator made, or a parameter; side 0 is the reference."""
    event = (parting.reference, parting.ours)[side]
    if parting.what == "gradient" and event is not None:
        return {event["outs"][0]}
    name = parting.what.removeprefix("the gradient of ")
    return {
        value
        for event in chunk.events
        if event["kind"] == "op"
        for value, own in zip(event["ins"], event["names"])
        if own == name
    }


def stepped(what: str) -> tuple[str | None, str | None]:
    """Parameter and state of "parameter NAME" and "optimizer state NAME: KEY"."""
    for prefix in ("parameter ", "optimizer state "):
        if what.startswith(prefix):
            name, _, key = what.removeprefix(prefix).partition(": ")
            return name, key or None
    return None, None
