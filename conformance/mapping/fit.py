"""How two signatures fit: what a call that is valid for the one would meet at the other."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from .signatures import KEYWORD, POSITIONAL, REQUIRED, STAR, STARS, Parameter, Signature

# Where a tensor is and what it lies in, not what it is: MindSpore's callables take none of these, which is
# said once for all and told apart from differences.
OF_PLACE = (
    *("out", "device", "layout", "pin_memory", "requires_grad", "memory_format", "non_blocking"),
    *("foreach", "fused", "capturable", "differentiable"),  # how an optimizer does it
)
# Where PyTorch has them no more, or only for itself.
DEPRECATED = ("size_average", "reduce", "_stacklevel")
SYNONYMS = (
    {"input", "self", "x", "input_x", "inputs", "tensor", "A", "a", "logits"},
    {"dim", "axis", "axes", "dims"},
    {"keepdim", "keepdims", "keep_dims"},
    {"eps", "epsilon"},
    {"other", "y", "value"},
)
SAME_WORDS = (
    {"torch.long", "torch.int64", "mindspore.int64"},
    *({"None", "[]", "()"}, {"nan", "float('nan')"}, {"inf", "float('inf')"}),
)


class Difference(NamedTuple):
    """One difference: its kind (a word that programs may ask for) and a sentence."""

    kind: str  # missing, names, order, defaults, extra
    text: str


def fit(
    wanted: list[Signature], offered: list[Signature], known: dict[str, str] | None = None
) -> tuple[list[Difference], list[str]]:
    """What differs for calls of any of the wanted overloads, each against the offered one that fits it
    best; and the parameters of place that are not taken. `known`: names that are known to mean the same."""
    if not offered:
        return [], []
    differences: dict[Difference, None] = {}
    lacking: dict[str, None] = {}
    for signature in wanted:
        found, without = _best(signature, offered, known or {})
        differences.update(
            dict.fromkeys(d for d in found if not _covered(d, signature, offered, known or {}))
        )
        lacking.update(dict.fromkeys(without))
    return list(differences), list(lacking)


def _best(
    wanted: Signature, offered: list[Signature], known: dict[str, str]
) -> tuple[list[Difference], list[str]]:
    return min((_one(wanted, other, known) for other in offered), key=lambda r: len(r[0]))


def _covered(
    difference: Difference, wanted: Signature, offered: list[Signature], known: dict[str, str]
) -> bool:
    """Whether another overload takes the calls without a parameter that this one asks for."""
    asked = re.match(r"`(\w+)` has to be given \(", difference.text)
    if asked is None:
        return False
    names = [p.name for p in wanted]
    cut = names.index(asked.group(1))
    shorter = tuple(p for i, p in enumerate(wanted) if i < cut or p.kind == KEYWORD)
    return not _best(shorter, offered, known)[0]


def _one(wanted: Signature, offered: Signature, known: dict[str, str]) -> tuple[list[Difference], list[str]]:
    names = {p.name: p for p in offered}
    places = [p for p in offered if p.kind == POSITIONAL]
    anything = any(p.kind == STARS for p in offered)
    found, used = [], set()
    lacking = [p.name for p in wanted if p.name in OF_PLACE and p.name not in names]
    passed_over = (*lacking, *DEPRECATED)
    own = [p for p in wanted if p.kind in (POSITIONAL, KEYWORD) and p.name not in passed_over]
    for place, p in enumerate(own):
        other = names.get(known.get(p.name, p.name))
        at = places[place] if p.kind == POSITIONAL and place < len(places) else None
        if other is None and at is not None and not _taken(at.name, wanted, known) and _alike(p, at):
            other = at
        if other is None:
            if not anything:
                found.append(Difference("missing", f"`{p.name}` is missing"))
            continue
        if other.kind in (STAR, STARS):
            continue
        if p.name != other.name:
            found.append(Difference("names", f"`{p.name}` is called `{other.name}`"))
        if p.kind == POSITIONAL and at is not other:
            found.append(Difference("order", _moved(p, other, places)))
        used.add(other.name)
        found += _defaults(p, other)
    for p in offered:
        new = p.name not in used and p.kind in (POSITIONAL, KEYWORD) and p.default == REQUIRED
        if new and not any(q.kind == STAR for q in wanted):
            found.append(Difference("extra", f"`{p.name}` has to be given too"))
    return found, lacking


def _alike(p: Parameter, other: Parameter) -> bool:
    """Whether another name at the same place may mean the same."""
    if any(p.name in words and other.name in words for words in SYNONYMS):
        return True
    if p.default == REQUIRED or other.default == REQUIRED:
        return p.default == other.default
    return p.default != "None" and same_value(p.default, other.default)


def _taken(name: str, wanted: Signature, known: dict[str, str]) -> bool:
    return name in known.values() or any(p.name == name for p in wanted)


def _moved(p: Parameter, other: Parameter, places: list[Parameter]) -> str:
    if other.kind == KEYWORD:
        return f"`{p.name}` is taken by keyword only"
    return f"`{p.name}` is argument {places.index(other) + 1}" if other in places else f"`{p.name}` moved"


def _defaults(p: Parameter, other: Parameter) -> list[Difference]:
    if p.default == REQUIRED:
        return []
    if other.default == REQUIRED:
        return [Difference("defaults", f"`{p.name}` has to be given (PyTorch: {p.default})")]
    if same_value(p.default, other.default):
        return []
    return [Difference("defaults", f"`{p.name}` is {other.default} where PyTorch has {p.default}")]


def same_value(a: str, b: str) -> bool:
    """Whether two defaults mean the same: 1 and 1.0, None and (), 0 and (0, 0)."""
    if a == b or any(a in words and b in words for words in SAME_WORDS):
        return True
    try:
        x, y = (_plain(ast.literal_eval(text)) for text in (a, b))
    except (ValueError, SyntaxError):
        last = [text.rpartition(".")[2].strip("'").lower() for text in (a, b)]
        return last[0] == last[1]
    return x == y and (isinstance(x, bool) == isinstance(y, bool))


def _plain(value: object) -> object:
    if isinstance(value, (list, tuple)) and value and all(v == value[0] for v in value):
        return value[0]
    return value


def renames(wanted: list[Signature], offered: list[Signature]) -> dict[str, str]:
    """{PyTorch's name: MindSpore's} where a place has another name."""
    made = {}
    for difference in fit(wanted, offered)[0]:
        if difference.kind == "names":
            _, ours, _, theirs, _ = difference.text.split("`")
            made[ours] = theirs
    return made
