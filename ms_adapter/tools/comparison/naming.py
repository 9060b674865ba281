"""Which tensor of one side belongs to which of the other: by name, by rules, and what is left by shape."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from ms_adapter.tools.formats import Entry

# What wrappers put before all names, and MindSpore's words for PyTorch's.
_PREFIXES = re.compile(r"^(?:(?:module|_orig_mod|network|_backbone|backbone|model|state_dict)\.)+")
_WORDS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
    "embedding_table": "weight",
}


class Pair(NamedTuple):
    """Two tensors that belong together, or one that has no partner; `how` they were matched."""

    a: Entry | None
    b: Entry | None
    how: str


class Rule(NamedTuple):
    """`pattern=>replacement`, applied to the names of A."""

    pattern: re.Pattern[str]
    replacement: str


def parse_rule(text: str) -> Rule:
    """The rule in a text such as `^encoder\\.=>backbone.`.

    Raises:
        ValueError: there is no `=>`, or the pattern is no regular expression.
    """
    pattern, arrow, replacement = text.partition("=>")
    if not arrow:
        raise ValueError(f"the rule {text!r} has no '=>' between pattern and replacement")
    try:
        return Rule(re.compile(pattern), replacement)
    except re.error as error:
        raise ValueError(f"the rule {text!r} has no valid pattern: {error}") from None


def _renamed(name: str, rules: Iterable[Rule]) -> str:
    for rule in rules:
        name = rule.pattern.sub(rule.replacement, name)
    return name


def common_name(name: str) -> str:
    """The name without wrappers' prefixes and in PyTorch's words."""
    file, separator, inside = name.rpartition("::")
    words = _PREFIXES.sub("", inside).split(".")
    words[-1] = _WORDS.get(words[-1], words[-1])
    return file + separator + ".".join(words)


def match(
    a: Sequence[Entry], b: Sequence[Entry], rules: Sequence[Rule] = (), by_shape: bool = True
) -> list[Pair]:
    """All tensors of both sides, in pairs where a partner is found."""
    left, right = list(a), list(b)
    pairs: list[Pair] = []
    if len(left) == len(right) == 1 and "" in (left[0].name, right[0].name):
        return [Pair(left[0], right[0], "only")]  # a single tensor has no name that could matter
    steps: list[tuple[str, Callable[[Entry], str], Callable[[Entry], str]]] = [
        ("rule" if rules else "name", lambda e: _renamed(e.name, rules), lambda e: e.name),
        ("common name", lambda e: common_name(_renamed(e.name, rules)), lambda e: common_name(e.name)),
    ]
    for how, key_a, key_b in steps:
        left, right = _pair_off(left, right, how, key_a, key_b, pairs)
    if by_shape:
        left, right = _pair_by_shape(left, right, pairs)
    pairs += [Pair(entry, None, "") for entry in left] + [Pair(None, entry, "") for entry in right]
    return pairs


def _pair_off(
    left: list[Entry],
    right: list[Entry],
    how: str,
    key_a: Callable[[Entry], str],
    key_b: Callable[[Entry], str],
    pairs: list[Pair],
) -> tuple[list[Entry], list[Entry]]:
    """Pairs those that alone have a key on each side; what is left over."""
    groups: dict[str, list[Entry]] = defaultdict(list)
    for entry in right:
        groups[key_b(entry)].append(entry)
    counts: dict[str, int] = defaultdict(int)
    for entry in left:
        counts[key_a(entry)] += 1
    rest, taken = [], set()
    for entry in left:
        found = groups.get(key_a(entry), [])
        if len(found) == 1 and counts[key_a(entry)] == 1:
            pairs.append(Pair(entry, found[0], how if entry.name != found[0].name else "name"))
            taken.add(id(found[0]))
        else:
            rest.append(entry)
    return rest, [entry for entry in right if id(entry) not in taken]


def _pair_by_shape(
    left: list[Entry], right: list[Entry], pairs: list[Pair]
) -> tuple[list[Entry], list[Entry]]:
    """Pairs, in the files' order, those shapes that as many are left of on both sides."""
    by_shape: tuple[dict, dict] = (defaultdict(list), defaultdict(list))
    for groups, side in zip(by_shape, (left, right)):
        for entry in side:
            if not entry.error:
                groups[entry.shape].append(entry)
    taken = set()
    for shape, entries in by_shape[0].items():
        partners = by_shape[1].get(shape, [])
        if len(partners) != len(entries):
            continue
        for mine, other in zip(entries, partners):
            pairs.append(Pair(mine, other, "shape"))
            taken |= {id(mine), id(other)}
    return [e for e in left if id(e) not in taken], [e for e in right if id(e) not in taken]
