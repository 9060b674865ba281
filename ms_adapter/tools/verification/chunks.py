"""What a recorded process wrote: events, and the values that they name."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .child.values import Value

Event = dict[str, Any]


@dataclass
class Chunk:
    """The events up to an optimizer's step, or to the end. Values are read when they are asked for."""

    events: list[Event]
    first: int  # the number of events[0] in the whole run
    last: bool
    error: str | None
    error_site: tuple[str, int, str] | None
    values: dict[int, Any]
    made_by: dict[int, int]  # values of parameters -> events
    same: dict[int, int]  # values -> the same tensor's, unchanged, in a chunk before
    path: str
    programs: int = -1  # graphs compiled so far, where they are counted
    _bytes: np.ndarray | None = field(default=None, repr=False)

    def array(self, number: int) -> np.ndarray | None:
        """The (sampled) elements of a value, flat; None if it belongs to an earlier chunk or has none."""
        value = self.values.get(number)
        if value is None:
            return None
        if value.elements == 0:
            return np.empty(0, value.stored)
        if self._bytes is None:
            self._bytes = np.memmap(self.path, np.uint8, "r")
        size = value.elements * np.dtype(value.stored).itemsize
        return self._bytes[value.offset : value.offset + size].view(value.stored)

    def whole(self, number: int) -> np.ndarray | None:
        """A value with its shape, if all of it was kept."""
        value, flat = self.values.get(number), self.array(number)
        if value is None or flat is None or value.stride != 1:
            return None
        return np.array(flat).reshape(value.shape)


def read_chunk(folder: str, index: int) -> Chunk | None:
    """The chunk of that index, if it is complete."""
    path = os.path.join(folder, f"chunk-{index:06}")
    if not os.path.exists(path + ".events"):
        return None
    with open(path + ".events", "rb") as file:
        found = _Plain(file).load()
    chunk = Chunk(path=path + ".values", **found)
    for event in chunk.events:
        results = event.get("outs") or [number for _, number in event.get("changed", ())]
        value = chunk.values.get(results[0]) if results else None
        event["shape"] = value.shape if value is not None else None
    return chunk


def remove_chunk(folder: str, index: int) -> None:
    """Give the disk back."""
    for ending in (".events", ".values"):
        os.unlink(os.path.join(folder, f"chunk-{index:06}{ending}"))


class _Plain(pickle.Unpickler):
    """Chunks hold plain values and one named tuple."""

    def find_class(self, module: str, name: str) -> Any:
        if module in ("_msa_verify.values", Value.__module__) and name == "Value":
            return Value
        raise pickle.UnpicklingError(f"a chunk names {module}.{name}")
