"""Which event of one run belongs to which of the other: by structure, however operators are split."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from difflib import SequenceMatcher

from .chunks import Event

_OF_OPTIMIZERS = ("step", "stepping")  # another optimizer is a difference, not another event
_ALIASES = frozenset(("detach", "data", "alias"))
_LONGEST = 20_000  # events whose alignment is worth the square of it


def _full_key(event: Event) -> Hashable:
    return (*_path_key(event), event["shape"])


def _path_key(event: Event) -> tuple:
    return event["kind"], event["path"], event["kind"] in _OF_OPTIMIZERS or event["name"], _taken(event)


def _class_key(event: Event) -> Hashable:
    return event["kind"], event.get("class"), event["kind"] in _OF_OPTIMIZERS or event["name"], _taken(event)


def _taken(event: Event) -> Hashable:
    """What tells one that gives its input back from its like: libraries look at parameters in any order."""
    return tuple(event["names"]) if event["kind"] == "op" and event["name"] in _ALIASES else None


def align(reference: Sequence[Event], ours: Sequence[Event]) -> list[tuple[int, int]]:
    """Pairs of indices, rising on both sides; what has no partner is in none."""
    found = _pairs(reference, ours, _full_key)
    for key in (_path_key, _class_key):  # other shapes all over; renamed modules
        if len(found) >= 0.5 * min(len(reference), len(ours)):
            break
        found = max(found, _of_like_shape(_pairs(reference, ours, key), reference, ours), key=len)
    return found


def _of_like_shape(
    pairs: list[tuple[int, int]], reference: Sequence[Event], ours: Sequence[Event]
) -> list[tuple[int, int]]:
    """Without the pairs whose shapes differ, unless most do. Within torch.func values have no shape."""
    alike = [
        (i, j)
        for i, j in pairs
        if None in (reference[i]["shape"], ours[j]["shape"]) or reference[i]["shape"] == ours[j]["shape"]
    ]
    return alike if len(alike) >= 0.5 * len(pairs) else pairs


def _pairs(
    reference: Sequence[Event], ours: Sequence[Event], key: Callable[[Event], Hashable]
) -> list[tuple[int, int]]:
    a, b = [key(event) for event in reference], [key(event) for event in ours]
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    pairs = [(i, i) for i in range(head)]
    middle_a, middle_b = a[head : len(a) - tail], b[head : len(b) - tail]
    if middle_a and middle_b and len(middle_a) + len(middle_b) < _LONGEST:
        for block in SequenceMatcher(None, middle_a, middle_b, autojunk=False).get_matching_blocks():
            pairs += [(head + block.a + k, head + block.b + k) for k in range(block.size)]
    pairs += [(len(a) - tail + k, len(b) - tail + k) for k in range(tail)]
    return pairs
