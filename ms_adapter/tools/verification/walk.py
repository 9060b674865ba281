"""Goes through two runs event by event until values part; keeps what is known of each value."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from .align import align
from .chunks import Chunk, Event
from .judge import Judge, Verdict

if TYPE_CHECKING:
    from .pardon import Pardon

_SUMS = frozenset((
    "sum", "mean", "var", "std", "norm", "logsumexp", "cross_entropy", "nll_loss", "mse_loss", "l1_loss",
    "smooth_l1_loss", "huber_loss", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "dot", "vdot", "trace", "nansum", "nanmean", "prod", "cumsum", "einsum", "matmul", "mm", "bmm",
    "linear", "conv1d", "conv2d", "conv3d", "bilinear", "addmm", "__matmul__", "__rmatmul__",
))  # fmt: skip
_GRADIENT_ROUNDINGS = 4  # before its summands are taken together: in the loss, and on the way back


@dataclass
class Parting:
    """Where values part for the first time: events of both sides (ours may stand alone), and what differs."""

    reference: Event | None
    ours: Event | None
    verdict: Verdict
    what: str  # "output 0", "gradient of ...", "parameter ...", ...
    pair: tuple[int, int] | None = None  # the values that part
    backward: tuple[Event, Event] | None = None  # of both, where a gradient parts


@dataclass
class Side:
    """One run so far."""

    producers: dict[int, Event] = field(default_factory=dict)  # of values
    matched: set[int] = field(default_factory=set)  # events by number
    changers: dict[str, Event] = field(default_factory=dict)  # what last changed a parameter or buffer
    entered: dict[str, Event] = field(default_factory=dict)  # the last call of each module
    steps: int = 0  # of optimizers, so far


class Walk:
    """The comparison of a reference with ours, chunk by chunk."""

    def __init__(self, check_dtype: bool = True, pardon: Pardon | None = None) -> None:
        self._check_dtype = check_dtype
        self._pardon = pardon
        self.clean: dict[int, int] = {}  # values of ours that agree, with the reference's
        self.clean_reference: dict[int, int] = {}
        self.reference, self.ours = Side(), Side()
        self.partner: dict[int, int] = {}  # events of ours -> the reference's
        self.by_number: dict[int, Event] = {}  # ours
        self.reference_by_number: dict[int, Event] = {}
        self.compared = 0
        self.asked: tuple[Event, Event] | None = None  # the first pair that is asked for different things

    @property
    def steps(self) -> int:
        """Optimizer steps of ours so far."""
        return self.ours.steps

    def chunk(self, reference: Chunk, ours: Chunk, spreads: Sequence[Chunk]) -> Parting | None:
        """Compare a chunk; where it parts, if it does."""
        self._judge = Judge(reference, ours, self._check_dtype)
        self.chunks = (reference, ours)
        if self._pardon is not None:
            self._pardon.carry(self, reference, ours)
        self._others = [_Mapped(reference, other) for other in spreads]
        stepped = [any(event["kind"] == "step" for event in chunk.events) for chunk in self.chunks]
        step = max(1, self.steps + any(stepped))  # what follows the last step counts to it
        for chunk, side, numbered in (
            (reference, self.reference, self.reference_by_number),
            (ours, self.ours, self.by_number),
        ):
            _enter(chunk, side, numbered, step)
        pairs = align(reference.events, ours.events)
        for i, j in pairs:
            self.partner[ours.first + j] = reference.first + i
            self.reference.matched.add(reference.first + i)
            self.ours.matched.add(ours.first + j)
        at_i = at_j = 0
        for i, j in [*pairs, (len(reference.events), len(ours.events))]:
            self._reconcile(reference.events[at_i:i], ours.events[at_j:j])
            if i == len(reference.events) or j == len(ours.events):
                break
            parting = self._compare(reference.events[i], ours.events[j])
            if parting is not None:
                return parting
            at_i, at_j = i + 1, j + 1
        self.reference.steps += stepped[0]
        self.ours.steps += stepped[1]
        return None

    def _accused(self, parting: Parting) -> Parting | None:
        """A parting, unless it is amplified rounding."""
        if self._pardon is not None and self._pardon(self, parting):
            return None
        return parting

    @property
    def ours_chunk(self) -> Chunk:
        """What ours has of the events being compared."""
        return self.chunks[1]

    # --- values

    def eps_of(self, r: int, o: int) -> float:
        """A unit in the last place of 1, in the coarser dtype of two values."""
        return self._judge.eps(r, o)

    def others_of(self, r: int) -> list[np.ndarray | None]:
        """A value of the reference in its perturbed runs."""
        return [other.array(r) for other in self._others]

    def verdict(self, r: int, o: int, inputs: float = 0.0) -> Verdict:
        """Compare two values, and remember if they agree."""
        if self.clean.get(o) == r:
            return Verdict(True)
        self.compared += 1
        found = self._judge.verdict(r, o, self.others_of(r), inputs)
        if found.agree:
            self.set_clean(r, o)
        return found

    def set_clean(self, r: int, o: int) -> None:
        """From here on value o of ours stands for value r of the reference."""
        self.clean[o] = r
        self.clean_reference[r] = o

    def _reconcile(self, reference: Sequence[Event], ours: Sequence[Event]) -> None:
        """Between two matched events: operators split differently meet where their results agree."""
        results = [number for event in reference for number in _results(event)]
        if not results:
            return
        for event in ours:
            for o in _results(event):
                for r in results:
                    if r not in self.clean_reference and self._same_shape(r, o) and self.verdict(r, o).agree:
                        break

    def _same_shape(self, r: int, o: int) -> bool:
        a, b = self.chunks[0].values.get(r), self.chunks[1].values.get(o)
        return a is not None and b is not None and a.shape == b.shape

    # --- events

    def _compare(self, r: Event, o: Event) -> Parting | None:
        return getattr(self, f"_compare_{o['kind']}")(r, o)

    def _compare_enter(self, r: Event, o: Event) -> None:
        self.reference.entered[r["path"]] = r
        self.ours.entered[o["path"]] = o
        self._note_asked(r, o, [(r["settings"], o["settings"])])

    def _compare_zero(self, r: Event, o: Event) -> None:
        return None

    def _compare_op(self, r: Event, o: Event) -> Parting | None:
        self._note_asked(r, o, [(dict(r["arguments"]), dict(o["arguments"]))])
        inputs = self._sum_size(r) if r["name"] in _SUMS else 0.0
        compared = [
            (f"output {slot}" if len(o["outs"]) > 1 else "the result", pair)
            for slot, pair in enumerate(zip(r["outs"], o["outs"]))
        ]
        for (_, a), (j, b) in zip(r["changed"], o["changed"]):
            compared.append((f"{o['names'][j] or f'argument {j}'}, changed in place", (a, b)))
        first = None
        for what, pair in compared:
            found = self.verdict(*pair, inputs)
            if not found.agree:
                first = first or self._accused(Parting(r, o, found, what, pair))
        return first or self._named(r, o, "after", "parameter")

    def _sum_size(self, r: Event) -> float:
        reference = self.chunks[0]
        sizes = [n for n in r["ins"] if n in reference.values]
        if not sizes or not r["outs"]:
            return 0.0
        longest = max(int(np.prod(reference.values[n].shape)) for n in sizes)
        made = reference.values.get(r["outs"][0])
        results = max(1, int(np.prod(made.shape))) if made is not None else 1
        return max(self._judge.size(n) for n in sizes) * np.sqrt(max(1.0, longest / results))

    def _compare_exit(self, r: Event, o: Event) -> Parting | None:
        for slot, (a, b) in enumerate(zip(r["outs"], o["outs"])):
            found = self.verdict(a, b)
            if not found.agree:
                accused = self._accused(Parting(r, o, found, f"output {slot} of the module", (a, b)))
                if accused is not None:
                    return accused
        return None

    def _compare_backward(self, r: Event, o: Event) -> Parting | None:
        for a, b in zip(r["ins"], o["ins"]):
            found = self.verdict(a, b)
            if not found.agree:
                accused = self._accused(Parting(r, o, found, "the loss", (a, b)))
                if accused is not None:
                    return accused
        flow = {(event, slot): number for event, slot, number in r["flow"]}
        for event, slot, number in sorted(o["flow"], reverse=True):  # from the last operator to the first
            other = flow.get((self.partner.get(event, -1), slot))
            if other is not None:
                found = self.verdict(other, number)
                if not found.agree:
                    reference, ours = self.reference_by_number[self.partner[event]], self.by_number[event]
                    parting = Parting(reference, ours, found, "gradient", (other, number), (r, o))
                    if self._accused(parting) is not None:
                        return parting
        return self._named(r, o, "gradients", "the gradient of")

    def _note_asked(self, r: Event, o: Event, settings: Iterable[tuple[dict, dict]]) -> None:
        """Remember that the same module, operator or optimizer is set differently, as far as names tell."""
        if self.asked is None and any(
            name and _is_other(theirs[name], ours[name])
            for theirs, ours in settings
            for name in theirs.keys() & ours.keys()
        ):
            self.asked = (r, o)

    def _compare_stepping(self, r: Event, o: Event) -> None:
        self._note_asked(r, o, zip(r["groups"], o["groups"]))

    def _compare_step(self, r: Event, o: Event) -> Parting | None:
        self._note_asked(r, o, zip(r["groups"], o["groups"]))
        return (
            self._named(r, o, "gradients", "the gradient of")
            or self._named(r, o, "parameters", "parameter", _rate(r) * (self.steps + 1))
            or self._named(r, o, "states", "optimizer state", self.steps + 1)
        )

    def _named(self, r: Event, o: Event, field_name: str, what: str, scale: float = 1.0) -> Parting | None:
        """Compare by name. `scale` is by how much a gradient's rounding comes in."""
        ours, reference = o.get(field_name, []), r.get(field_name, [])
        by_name = {name: (name, number) for name, number in reference}
        if not {name for name, _ in ours} & set(by_name):  # other names: then by order
            by_name = {name: theirs for (name, _), theirs in zip(ours, reference)}
        for name, b in ours:
            if name not in by_name:
                continue
            their_name, a = by_name[name]
            found = self.verdict(a, b)
            if not found.agree:
                found = self.verdict(a, b, scale * self._summed_gradient(their_name.partition(":")[0], a))
            if not found.agree:
                backward = (r, o) if o["kind"] == "backward" else None
                parting = Parting(r, o, found, f"{what} {name}", (a, b), backward)
                if self._accused(parting) is not None:
                    return parting
        return None

    def _summed_gradient(self, name: str, number: int) -> float:
        """For a bias and its like, whose gradient is a sum: how large what is summed can make its rounding.

        What comes back to the operators that use the parameter may cancel out in the sum.
        """
        reference = self.chunks[0]
        value = reference.values.get(number)
        if value is None or len(value.shape) != 1:
            return 0.0
        users = {e["number"] for e in reference.events if e["kind"] == "op" and name in e["names"]}
        flows = [flow for e in reference.events if e["kind"] == "backward" for flow in e["flow"]]
        return max(
            (
                _GRADIENT_ROUNDINGS
                * self._judge.size(g)
                * np.sqrt(max(1.0, np.prod(reference.values[g].shape) / max(1, value.shape[0])))
                for event, _, g in flows
                if event in users and g in reference.values
            ),
            default=0.0,
        )


def _rate(step: Event) -> float:
    """The largest learning rate of an optimizer."""
    return max((float(group["lr"]) for group in step["groups"] if _is_number(group.get("lr"))), default=0.0)


def _is_number(text: str | None) -> bool:
    try:
        float(text or "")
    except ValueError:
        return False
    return True


def _is_other(a: str, b: str) -> bool:
    """Whether two settings are different numbers or truth values (other texts may mean the same)."""
    if a == b:
        return False
    if {a, b} == {"True", "False"}:
        return True
    try:
        return float(a) != float(b)
    except ValueError:
        return False


def _results(event: Event) -> list[int]:
    if event["kind"] != "op":
        return []
    return event["outs"] + [number for _, number in event["changed"]]


def _enter(chunk: Chunk, side: Side, numbered: dict[int, Event], step: int) -> None:
    for offset, event in enumerate(chunk.events):
        event["number"], event["step"] = chunk.first + offset, step
        numbered[event["number"]] = event
        for number in _results(event):
            side.producers.setdefault(number, event)
        for at, _ in event.get("changed", ()):
            if event["names"][at]:
                side.changers[event["names"][at]] = event
    for value, event_number in chunk.made_by.items():
        if event_number in numbered:
            side.producers.setdefault(value, numbered[event_number])


class _Mapped:
    """Values of a perturbed run of the reference by the reference's numbers."""

    def __init__(self, reference: Chunk, other: Chunk) -> None:
        self._other = other
        self._number: dict[int, int] = {}
        for i, j in align(reference.events, other.events):
            self._map(reference.events[i], other.events[j])

    def _map(self, r: Event, p: Event) -> None:
        for name in ("ins", "outs"):
            self._number.update(zip(r.get(name, ()), p.get(name, ())))
        self._number.update(zip((n for _, n in r.get("changed", ())), (n for _, n in p.get("changed", ()))))
        for name in ("gradients", "after", "states", *(("parameters",) if r["kind"] == "step" else ())):
            by_name = dict(p.get(name, ()))
            self._number.update((number, by_name.get(key, -1)) for key, number in r.get(name, ()))
        self._number.update(zip((f[2] for f in r.get("flow", ())), (f[2] for f in p.get("flow", ()))))

    def array(self, number: int) -> np.ndarray | None:
        """The value, if that run has it."""
        return self._other.array(self._number.get(number, -1))
