"""Numbers that Python computes anew before each run of a graph: learning rates, counts of steps."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ms_adapter import _C

recording = _C.capture.active


class Stale(Exception):
    """The graph does not fit what Python has now: it must be recorded anew."""


class NotThisTime(Exception):
    """The program does not do what the function would for these elements; nothing has been written."""


class HostNumbers:
    """The numbers of one recording: 0-d float64 inputs of its graph, each with what computes it."""

    def __init__(self) -> None:
        self.inputs: list[Any] = []
        self._reads: list[Callable[[], float]] = []
        self._known: dict[Any, Any] = {}
        self._counted: dict[Any, list[Any]] = {}

    def add(self, key: Any, read: Callable[[], float]) -> Any:
        """The input that stands for `read()`; one for each key."""
        if key not in self._known:
            from ms_adapter import pytorch as torch

            _C.capture.pause(True)
            number = torch.tensor(float(read()), dtype=torch.float64)
            _C.capture.add_input(number)
            _C.capture.pause(False)
            self._known[key] = number
            self.inputs.append(number)
            self._reads.append(read)
        return self._known[key]

    def count(self, step: Any) -> Any:
        """The input that stands for a count of steps, which moves on by one; counts that agree share one."""
        _C.capture.pause(True)
        step += 1
        now = step.item()
        _C.capture.pause(False)
        steps = self._counted.setdefault(now, [])
        steps.append(step)
        return self.add(("count", now), lambda: _agreed(steps))

    def take_back(self) -> None:
        """Moves the counts back: the run did not happen."""
        self._move(-1)

    def refresh(self) -> None:
        """Computes all numbers anew, before a run; the counts move on. After Stale all is as it was."""
        self._move(1)
        try:
            numbers = [read() for read in self._reads]
        except Stale:
            self.take_back()
            raise
        for tensor, number in zip(self.inputs, numbers, strict=True):
            tensor.fill_(number)

    def _move(self, by: int) -> None:
        for steps in self._counted.values():
            for step in steps:
                step += by


def _agreed(steps: list[Any]) -> float:
    first = steps[0].item()
    if any(step.item() != first for step in steps[1:]):
        raise Stale("counts of steps that were equal are not any more")
    return first


class _Thread(threading.local):
    numbers: HostNumbers | None = None


_thread = _Thread()


@contextmanager
def gathering(numbers: HostNumbers) -> Iterator[None]:
    """In its scope the numbers of this thread's recording are these."""
    _thread.numbers = numbers
    try:
        yield
    finally:
        _thread.numbers = None


def belong_here(numbers: HostNumbers) -> bool:
    """Whether they are those of the recording that runs in this thread."""
    return _thread.numbers is numbers


def number_input(key: Any, read: Callable[[], float]) -> Any:
    """While a recording runs: the tensor that stands for `read()`."""
    assert _thread.numbers is not None
    return _thread.numbers.add(key, read)


def counter_input(step: Any) -> Any:
    """While a recording runs: the tensor that stands for the count, moved on by one."""
    assert _thread.numbers is not None
    return _thread.numbers.count(step)
