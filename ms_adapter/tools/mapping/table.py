"""The stored table of names, read without PyTorch or MindSpore: one record a name, in both directions."""

from __future__ import annotations

import difflib
import fnmatch
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA = Path(__file__).with_name("data.json")
IDENTICAL, DIFFERS, UNMEASURED, MISSING = "identical", "differs", "unmeasured", "missing"
VERDICTS = (IDENTICAL, DIFFERS, UNMEASURED, MISSING)
# Differences that show themselves by an error or an unknown name; all others may change numbers silently.
LOUD = frozenset({"dtypes", "refused", "missing", "names", "fields", "state", "extra"})
EDGES = "edges"  # differences that ordinary numbers do not show


@dataclass(frozen=True)
class Difference:
    """One difference: its kind, a word that programs may ask for, and a sentence."""

    kind: str
    text: str


@dataclass(frozen=True)
class Counterpart:
    """One MindSpore name beside one of PyTorch's, and how they compare.

    `without` names the parameters of place (`out`, `device`, ...) that MindSpore does not take; `gaps` the
    half dtypes without a kernel on MindSpore's CPU target. Neither counts for the verdict.
    """

    name: str
    verdict: str
    signatures: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    without: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    checked: tuple[tuple[str, str], ...] = ()  # (dtype, "5 of 6": samples that agree)
    platforms: str = ""
    note: str = ""
    unmeasured: str = ""  # why, where the verdict says so

    @property
    def summary(self) -> str:
        """`identical`, `differs in dtypes, defaults`, `unmeasured`."""
        kinds = ", ".join(dict.fromkeys(d.kind for d in self.differences))
        return f"{DIFFERS} in {kinds}" if self.verdict == DIFFERS else self.verdict

    @property
    def ordinary(self) -> bool:
        """Whether nothing differs, or only at the edges: NaN, infinities, empty tensors, mixed dtypes."""
        return self.verdict != UNMEASURED and all(d.kind == EDGES for d in self.differences)

    @property
    def loud(self) -> bool:
        """Whether every other difference shows itself by an error: no ordinary call gives another number."""
        return self.verdict != UNMEASURED and all(d.kind in {*LOUD, EDGES} for d in self.differences)


@dataclass(frozen=True)
class Record:
    """One of PyTorch's names and MindSpore's for it, best first."""

    name: str
    kind: str  # function, class, method, attribute, value
    signatures: tuple[str, ...]
    counterparts: tuple[Counterpart, ...]

    @property
    def best(self) -> Counterpart | None:
        return self.counterparts[0] if self.counterparts else None

    @property
    def counterpart(self) -> str:
        """The full MindSpore name, or nothing."""
        return self.best.name if self.best else ""

    @property
    def verdict(self) -> str:
        return self.best.verdict if self.best else MISSING

    @property
    def differences(self) -> tuple[Difference, ...]:
        return self.best.differences if self.best else ()

    @property
    def summary(self) -> str:
        """The verdict in words, `missing` too."""
        return self.best.summary if self.best else MISSING


@functools.cache
def data() -> dict[str, Any]:
    """data.json: versions, date, names."""
    return json.loads(DATA.read_text())


def full(name: str, root: str = "torch") -> str:
    """`torch.relu` for `relu`."""
    return name if name == root or name.startswith(f"{root}.") else f"{root}.{name}"


def lookup(name: str) -> Record | None:
    """What is known of one of PyTorch's public names; None where PyTorch has no such name.

    >>> lookup("torch.nn.functional.relu").counterpart
    'mindspore.mint.nn.functional.relu'
    """
    return _record(full(name)) if full(name) in data()["names"] else None


@functools.cache
def _record(name: str) -> Record:
    entry = data()["names"][name]
    maps = tuple(_counterpart(m) for m in entry["maps"])
    return Record(name, entry["kind"], tuple(entry["signatures"]), maps)


def _counterpart(entry: dict[str, Any]) -> Counterpart:
    return Counterpart(
        entry["to"],
        entry["verdict"],
        tuple(entry.get("signatures", ())),
        tuple(Difference(*d) for d in entry.get("differences", ())),
        tuple(entry.get("without", ())),
        tuple(entry.get("gaps", ())),
        tuple(entry["checked"].items()),
        entry.get("platforms", ""),
        entry.get("note", ""),
        entry.get("unmeasured", ""),
    )


def records(pattern: str = "*") -> Iterator[Record]:
    """The records whose name fits a pattern with `*` and `?`."""
    pattern = full(pattern) if not pattern.startswith("*") else pattern
    yield from (_record(name) for name in data()["names"] if fnmatch.fnmatchcase(name, pattern))


@functools.cache
def _reversed() -> dict[str, list[tuple[str, int]]]:
    """MindSpore's name -> (PyTorch's, place among its counterparts)."""
    found: dict[str, list[tuple[str, int]]] = {}
    for name, entry in data()["names"].items():
        for place, m in enumerate(entry["maps"]):
            found.setdefault(m["to"], []).append((name, place))
    return dict(sorted(found.items()))


def reverse(pattern: str) -> list[tuple[str, list[tuple[Record, Counterpart]]]]:
    """MindSpore's names that fit a pattern, each with PyTorch's names for it, best first.

    >>> [torch.name for torch, _ in reverse("mindspore.mint.nn.Conv2d")[0][1]]
    ['torch.nn.Conv2d']
    """
    pattern = full(pattern, "mindspore") if not pattern.startswith("*") else pattern
    made = []
    for name, sources in _reversed().items():
        if fnmatch.fnmatchcase(name, pattern):
            pairs = [(_record(torch), _record(torch).counterparts[place]) for torch, place in sources]
            pairs.sort(key=lambda pair: (VERDICTS.index(pair[1].verdict), len(pair[1].differences)))
            made.append((name, pairs))
    return made


def near(name: str, root: str = "torch") -> list[str]:
    """Names of the table that look like an unknown one, its last part first of all."""
    names = list(data()["names"] if root == "torch" else _reversed())
    last = name.rpartition(".")[2].lower()
    same = [n for n in names if n.rpartition(".")[2].lower() == last]
    close = difflib.get_close_matches(full(name, root), names, n=5, cutoff=0.75)
    return list(dict.fromkeys([*same[:5], *close]))[:6]
