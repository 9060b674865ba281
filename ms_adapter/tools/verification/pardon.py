"""A fault, or rounding that was amplified? The reference repeats the operator on our own inputs.

At a kink (of relu, of a tie in max_pool2d) the last place of an input decides about a whole gradient. What
the reference's perturbed runs do not happen to meet they do not explain. So nothing is accused whose result
the reference gets too from the inputs that ours had. What parts from there on is `loose`: each operator is
judged by its own inputs, and one that cannot be repeated is not accused if what it takes is loose.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from . import programs
from .blame import first_fault
from .chunks import Chunk, Event
from .judge import judge_numbers
from .programs import Program
from .replays import Replayer
from .walk import Parting, Walk


class Pardon:
    """Decides of partings, in the order in which they come."""

    def __init__(self, replayer: Replayer) -> None:
        self._replayer = replayer
        self._loose: set[int] = set()  # values of ours that agree with the reference's but for amplification
        self.first: Event | None = None  # the first event of ours that was pardoned
        self.count = 0

    def carry(self, walk: Walk, reference: Chunk, ours: Chunk) -> None:
        """At the start of a chunk: the same tensors as before are as loose as before."""
        new = {old: number for number, old in reference.same.items()}
        for number, old in ours.same.items():
            theirs = new.get(walk.clean.get(old, -1))
            if old in self._loose and theirs is not None:
                self._loose.add(number)
                walk.set_clean(theirs, number)

    def __call__(self, walk: Walk, parting: Parting) -> bool:
        """Whether a parting is no fault; then its values count as equal."""
        if parting.verdict.what != "values" or parting.pair is None or parting.ours is None:
            return False
        explained = self._explained(walk, parting)
        if explained is None:
            explained = self._takes_loose(walk, parting)
        if explained:
            self.count += 1
            self.first = self.first or parting.ours
            self._loose.add(parting.pair[1])
            walk.set_clean(*parting.pair)
        return explained

    # --- what cannot be repeated

    def _takes_loose(self, walk: Walk, parting: Parting) -> bool:
        """Whether it may part because of what it takes."""
        event = parting.ours
        assert event is not None
        if parting.backward is not None:
            return self._comes_back_loose(walk, parting, parting.backward[1])
        if event["kind"] != "op":
            return bool(self._loose)
        found = first_fault(walk, parting)
        if found.why == "itself":
            return any(value in self._loose for value in event["ins"])
        return found.why == "input" and bool(self._loose)  # it comes from what is not seen

    def _comes_back_loose(self, walk: Walk, parting: Parting, backward: Event) -> bool:
        """Whether a gradient comes from loose ones; what operators without partner got was not compared."""
        values = programs.gradient_of(parting, 1, walk.ours_chunk)
        users = programs.users_of(values, walk.ours_chunk.events, backward)
        if not users:
            return bool(self._loose)
        return bool(self._loose) and any(
            gradient in self._loose or event["number"] not in walk.partner for event, gradient in users
        )

    # --- what can

    def _explained(self, walk: Walk, parting: Parting) -> bool | None:
        """Whether the reference makes of our inputs what ours made; None if that cannot be told."""
        event = parting.ours
        assert event is not None
        if parting.backward is not None:
            return self._gradient(walk, parting, *parting.backward)
        if event["kind"] == "op":
            return self._call(walk, parting)
        return self._step(walk, parting) if event["kind"] == "step" else None

    def _call(self, walk: Walk, parting: Parting) -> bool | None:
        r, o = parting.reference, parting.ours
        assert r is not None and o is not None and parting.pair is not None
        if first_fault(walk, parting).why != "itself" or parting.pair[1] not in programs.results(o):
            return None
        inputs = _in_place_of(r["ins"], o["ins"], walk)
        if inputs is None:
            return None
        which = programs.results(o).index(parting.pair[1])
        return self._agrees(walk, parting, programs.of_call(o, r, walk.ours_chunk, inputs, which), o["ins"])

    def _gradient(self, walk: Walk, parting: Parting, r: Event, o: Event) -> bool | None:
        theirs, ours = (programs.gradient_of(parting, i, walk.chunks[i]) for i in (0, 1))
        users = programs.users_of(ours, walk.ours_chunk.events, o)
        wanted = {event["number"]: event for event, _ in programs.users_of(theirs, walk.chunks[0].events, r)}
        partners = [walk.partner.get(event["number"], -1) for event, _ in users]
        if set(partners) != wanted.keys() or not users or len(ours) != 1:
            return None
        calls = [(event, wanted[at], gradient) for (event, gradient), at in zip(users, partners)]
        if any(len(event["ins"]) != len(text["ins"]) for event, text, _ in calls):
            return None
        (value,) = ours
        gradients = [gradient for _, gradient in users]
        made = programs.of_gradient(value, calls, walk.ours_chunk)
        found = self._agrees(walk, parting, made, gradients)
        before = _gradient_before(walk, parting, o)
        if not found and before is not None:
            made = programs.of_gradient(value, calls, walk.ours_chunk, before)
            found = self._agrees(walk, parting, made, [*gradients, before])
        return found

    def _step(self, walk: Walk, parting: Parting) -> bool | None:
        r, o = parting.reference, parting.ours
        assert r is not None and o is not None
        if r["name"] != o["name"] or r["members"] != o["members"]:
            return None
        name, key = programs.stepped(parting.what)
        if name is None:
            return None
        return self._agrees(walk, parting, programs.of_step(o, r, walk.ours_chunk, name, key), [])

    def _agrees(
        self, walk: Walk, parting: Parting, program: Program | None, taken: Sequence[int]
    ) -> bool | None:
        """Whether the program gives what ours got; None if it cannot be run."""
        assert parting.pair is not None
        made = self._replayer(program) if program is not None else None
        ours = walk.ours_chunk.array(parting.pair[1])
        if made is None or ours is None:
            return None
        base, *others = (array.reshape(-1) for array in made)
        if base.shape != ours.shape:
            return None
        sizes = [walk.ours_chunk.array(number) for number in taken]
        return judge_numbers(base, ours, walk.eps_of(*parting.pair), others, _summed(sizes, ours.size)).agree


def _in_place_of(theirs: Sequence[int], ours: Sequence[int], walk: Walk) -> list[int] | None:
    """Ours of the reference's inputs, in the reference's order; None if there are not as many."""
    if len(theirs) != len(ours):
        return None
    known = walk.clean_reference
    return [known[t] if known.get(t) in ours else o for t, o in zip(theirs, ours)]


def _gradient_before(walk: Walk, parting: Parting, backward: Event) -> int | None:
    """What a parameter's gradient was after the backward before this one, in this chunk."""
    name = parting.what.removeprefix("the gradient of ")
    found = None
    for event in walk.ours_chunk.events:
        if event is backward:
            break
        if event["kind"] == "backward":
            found = dict(event.get("gradients", ())).get(name, found)
    return found


def _summed(arrays: Sequence[np.ndarray | None], results: int) -> float:
    """The largest of what is taken, by the root of how many are taken for one result."""
    known = [a for a in arrays if a is not None and a.size and a.dtype.kind in "fc"]
    sizes = [float(np.abs(a[np.isfinite(a)]).max(initial=0.0)) for a in known]
    longest = max((a.size for a in known), default=0)
    return max(sizes, default=0.0) * float(np.sqrt(max(1.0, longest / max(1, results))))
