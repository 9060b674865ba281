"""From the values that part to the line that made them part: upwards to what still had equal inputs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .child.draws import RANDOM, draws
from .chunks import Event
from .walk import Parting, Side, Walk

# What they change had no value that matters.
_OVERWRITE = (
    "uniform_", "normal_", "exponential_", "random_", "bernoulli_", "zero_", "fill_", "copy_", "kaiming_",
    "xavier_", "orthogonal_", "trunc_normal_", "constant_", "zeros_", "ones_", "eye_", "dirac_", "sparse_",
    "set_data",
)  # fmt: skip


@dataclass
class Culprit:
    """What to look at: an event of ours, of the reference, or of both; and why it is blamed."""

    ours: Event | None
    reference: Event | None
    why: str
    name: str | None = None  # of the tensor, where one is to blame


def find_culprit(walk: Walk, parting: Parting) -> Culprit:
    """Who is to blame: where nothing else is known, what was asked for differently before."""
    found = first_fault(walk, parting)
    if found.why in ("itself", "input") and walk.asked is not None and not _asks_differently(found):
        return Culprit(walk.asked[1], walk.asked[0], "asked")
    return found


def _asks_differently(found: Culprit) -> bool:
    r, o = found.reference, found.ours
    if r is None or o is None or r["name"] != o["name"]:
        return True
    return any(r.get(key) != o.get(key) for key in ("arguments", "groups"))


def first_fault(walk: Walk, parting: Parting) -> Culprit:
    """The first operator of ours that has the reference's inputs and another result."""
    r, o = parting.reference, parting.ours
    if parting.what.startswith("the gradient of"):
        for side, why in ((walk.reference, "missing"), (walk.ours, "extra")):
            events = walk.reference_by_number if why == "missing" else walk.by_number
            alone = [e for e in events.values() if e["kind"] == "zero" and e["number"] not in side.matched]
            if alone:
                return Culprit(
                    o if why == "missing" else alone[-1], alone[-1] if why == "missing" else r, why
                )
    if parting.what == "gradient":
        return _gradient(walk, parting)
    if o is not None and r is not None and o["kind"] in ("op", "backward"):
        found = _Search(walk).of_pair(r, o)
        return _earlier_draw(walk, found) or found
    if o is not None and o["kind"] == "step" and parting.pair is not None:
        return _of_value(walk, parting)
    if o is not None and o["kind"] == "exit" and parting.pair is not None:
        return _of_value(walk, parting)
    return Culprit(o, r, "itself")


def _earlier_draw(walk: Walk, found: Culprit) -> Culprit | None:
    """Where a random operator gives other numbers: one without partner before it has moved the stream."""
    both = (found.ours, found.reference)
    if found.why != "itself" or not all(event is not None and event["name"] in RANDOM for event in both):
        return None
    for side, events, why, clean in (
        (walk.reference, walk.reference_by_number, "missing", walk.clean_reference),
        (walk.ours, walk.by_number, "extra", walk.clean),
    ):
        for event in events.values():
            alone = event["kind"] == "op" and event["number"] not in side.matched
            if alone and draws(event["name"]) and not any(number in clean for number in event["outs"]):
                return Culprit(found.ours if why == "missing" else event, event, why)
    return None


def _of_value(walk: Walk, parting: Parting) -> Culprit:
    """Who made a value that is seen in a module's result or at an optimizer's step."""
    assert parting.pair is not None
    a, b = parting.pair
    made_b, made_a = walk.ours.producers.get(b), walk.reference.producers.get(a)
    search = _Search(walk)
    if made_b is not None and made_b["number"] not in walk.ours.matched:
        return search.of_ours(made_b, made_a)
    if made_a is not None and made_a["number"] not in walk.reference.matched:
        return Culprit(parting.ours, search.first_missing(made_a), "missing")
    return Culprit(parting.ours, parting.reference, "itself")


def _gradient(walk: Walk, parting: Parting) -> Culprit:
    """All gradients after this one agree: the backward of an operator that uses the value is to blame."""
    assert parting.ours is not None
    outs = set(parting.ours["outs"])
    users = [
        event
        for event in walk.by_number.values()
        if event["kind"] == "op" and event["number"] > parting.ours["number"] and outs & set(event["ins"])
    ]
    if not users:
        return Culprit(parting.ours, parting.reference, "gradient")
    user = users[-1]
    reference = walk.reference_by_number.get(walk.partner.get(user["number"], -1))
    return Culprit(user, reference, "gradient")


class _Search:
    """Walks from an event towards the inputs."""

    def __init__(self, walk: Walk) -> None:
        self._walk = walk
        self._seen: set[int] = set()

    def of_pair(self, r: Event, o: Event) -> Culprit:
        """Why an event parts from its partner."""
        found = [
            culprit
            for i, value in enumerate(o["ins"])
            if (culprit := self._input(i, value, r, o)) is not None
        ]
        if not found:
            return Culprit(o, r, "swapped" if self._swapped(r, o) else "itself")
        return min(found, key=_when)

    def _swapped(self, r: Event, o: Event) -> bool:
        """Whether ours takes the reference's inputs in another order."""
        places = [r["ins"].index(w) for v in o["ins"] if (w := self._walk.clean.get(v)) in r["ins"]]
        return places != sorted(places)

    def _input(self, i: int, value: int, r: Event, o: Event) -> Culprit | None:
        """Who is to blame for one input; None if it is as it should be."""
        walk = self._walk
        if o["name"].startswith(_OVERWRITE) and any(i == at for at, _ in o.get("changed", ())):
            return None
        theirs = r["ins"][i] if i < len(r["ins"]) else None
        if value < 0 or (theirs is not None and theirs < 0):
            return None
        if walk.clean.get(value) in r["ins"] or (theirs is not None and walk.verdict(theirs, value).agree):
            return None
        maker = walk.ours.producers.get(value)
        if maker is not None and maker["number"] not in walk.ours.matched and value not in walk.clean:
            return self.of_ours(maker, r)
        return self._other_input(i, theirs, r, o)

    def _other_input(self, i: int, theirs: int | None, r: Event, o: Event) -> Culprit:
        """Ours uses a value that is fine where it was made: what does the reference use instead?"""
        walk = self._walk
        name = o["names"][i] if o.get("names") else None
        maker = walk.reference.producers.get(theirs) if theirs is not None else None
        if maker is not None and maker["number"] not in walk.reference.matched:
            return Culprit(o, self.first_missing(maker), "missing", name)
        if name:
            for side, why in ((walk.reference, "missing"), (walk.ours, "extra")):
                changer = _changed_alone(side, name)
                if changer is not None:
                    return Culprit(*((o, changer) if why == "missing" else (changer, r)), why, name)
        if theirs in walk.clean_reference and maker is not None:
            return Culprit(o, r, "swapped" if self._swapped(r, o) else "other input", name)
        return Culprit(o, r, "input", name or f"argument {i}")

    def of_ours(self, event: Event, reference: Event | None) -> Culprit:
        """An operator without partner: it, or the first such one before it."""
        walk = self._walk
        self._seen.add(event["number"])
        for value in event["ins"]:
            maker = walk.ours.producers.get(value)
            if value in walk.clean or maker is None or maker["number"] in self._seen:
                continue
            if maker["number"] not in walk.ours.matched:
                return self.of_ours(maker, reference)
        return Culprit(event, self._instead(event), "extra")

    def _instead(self, event: Event) -> Event | None:
        """The reference's operator without partner that takes the same input, if there is one."""
        walk = self._walk
        inputs = {walk.clean[v] for v in event["ins"] if v in walk.clean}
        for number, other in walk.reference_by_number.items():
            free = number not in walk.reference.matched and other["kind"] == "op"
            if free and inputs & set(other["ins"]) and not set(other["outs"]) & set(walk.clean_reference):
                return other
        return None

    def first_missing(self, event: Event) -> Event:
        """The first of the reference's operators without partner that led to this one."""
        walk = self._walk
        seen = {event["number"]}
        while True:
            before = [
                maker
                for value in event["ins"]
                if value not in walk.clean_reference
                and (maker := walk.reference.producers.get(value)) is not None
                and maker["number"] not in walk.reference.matched
                and maker["number"] not in seen
            ]
            if not before:
                return event
            event = before[0]
            seen.add(event["number"])


def _changed_alone(side: Side, name: str) -> Event | None:
    """The operator without partner that last changed a parameter or buffer in place."""
    changer = side.changers.get(name)
    return changer if changer is not None and changer["number"] not in side.matched else None


def _when(culprit: Culprit) -> Any:
    event = culprit.ours or culprit.reference
    assert event is not None
    return event["number"]
