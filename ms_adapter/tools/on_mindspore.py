"""How each public name of PyTorch ran on the device `mindspore`, and what the registry declares for it.

That is known from a conformance run on MindSpore's CPU target over PyTorch's own operator table, stored in
`ms_adapter/tools/on_mindspore.json` (`make support` writes it).
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

NATIVE, COMPOSED, MEMORY, DRAWN = "native", "composed", "memory", "drawn"
FALLBACK, DIFFERS = "fallback", "differs"
WORST_FIRST = (DIFFERS, FALLBACK, NATIVE, COMPOSED, DRAWN, MEMORY)
MEANING = {
    NATIVE: "the name's own row ran by a MindSpore callable in every call",
    COMPOSED: "computed by the MindSpore callables of the rows it is made of",
    MEMORY: "nothing to compute: a view, or bytes that are made, filled or moved in the shared memory",
    DRAWN: "random numbers, drawn from our generator (PyTorch's stream) into the shared memory",
    FALLBACK: "the same result, with some calls computed on cpu and reported",
    DIFFERS: "a check failed on the device",
}


@dataclass(frozen=True)
class Ran:
    """A name in the run: one of the words above, the callables that served it, the rows that went to cpu."""

    word: str
    callables: tuple[str, ...] = ()
    on_cpu: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()

    def note(self) -> str:
        """The measurement in a line."""
        where = f"measured on MindSpore {stored()['mindspore']} {stored()['target']}"
        if self.word == FALLBACK:
            return f"{where}: computed on cpu: {', '.join(self.on_cpu)}"
        by = f": {', '.join(self.callables)}" if self.callables else ""
        return f"{where}: {self.word}{by}"


@functools.cache
def stored() -> dict[str, Any]:
    """The run: `mindspore`, `target`, `date`, `commit`, `samples`, `entries` and `names`."""
    return json.loads(Path(__file__).with_suffix(".json").read_text())


def ran(name: str) -> Ran | None:
    """How a name ran there; None for what the run does not measure.

    >>> ran("torch.add").word, ran("torch.add").callables
    ('native', ('ops.add',))
    """
    found = stored()["names"].get(name.removeprefix("torch."))
    if found is None:
        return None
    word, *lists = found
    return Ran(word, *map(tuple, lists))


@functools.cache
def declared() -> dict[str, tuple[str, ...]]:
    """The registry's `ms` fields: row (`name` or `name.overload`) -> callables of mindspore, best first."""
    from ms_adapter import _C  # type: ignore[attr-defined]

    return _C.mindspore_callables()


_OF_OPERATORS = (
    *("torch", "torch.Tensor", "torch.nn.functional", "torch.special", "torch.linalg", "torch.fft"),
    "torch.sparse",
)


def candidates(name: str) -> tuple[str, ...]:
    """The callables that the registry names for a public name, best first; () for views and compositions.

    >>> candidates("torch.add")
    ('mint.add', 'ops.add')
    """
    space, _, last = name.rpartition(".")
    found = ran(name)
    # Elsewhere a name means another thing: torch.jit.trace is no sum of a diagonal.
    rows = found.rows if found else (last, last.rstrip("_")) if space in _OF_OPERATORS else ()
    named = [c for row in rows for c in declared().get(row, ())]
    return tuple(dict.fromkeys(named))
