"""What verify says about the first divergence: places, operator, arguments, and a reproducer."""

from __future__ import annotations

import linecache
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from difflib import SequenceMatcher
from typing import Any

from .blame import Culprit
from .chunks import Event
from .judge import Verdict
from .walk import Parting, Walk

_WHY = {
    "itself": "its inputs agree with the reference's, its result does not",
    "swapped": "it takes the reference's inputs in another order",
    "other input": "it takes another tensor than the reference, which both runs have",
    "input": "{name} has another value than in the reference already when it comes in",
    "missing": "the reference changes the value before, by an operator that has no partner here",
    "extra": "the reference has no such operator here; its inputs agree, what comes after does not",
    "gradient": "its inputs, result and incoming gradient agree, the gradient that it passes on does not",
    "asked": "it is asked for something else than in the reference; there, no more than rounding came of it",
    "error": "the script raised an error",
    "length": "one run goes on where the other has ended",
}


_USUAL = ("here", "its backward", "module called", "made")  # places, the most telling first


@dataclass
class Place:
    """A line of the user's code."""

    what: str
    side: str
    file: str
    line: int
    function: str
    code: str

    def text(self) -> str:
        """As reports show it."""
        return f"{self.file}:{self.line} in {self.function}"


@dataclass
class Changed:
    """A line in which two versions of a script differ."""

    side: str
    line: int
    code: str


@dataclass
class Finding:
    """The first divergence."""

    step: int
    phase: str
    module: str
    operator: str
    what: str
    why: str
    places: list[Place] = field(default_factory=list)
    differences: list[dict[str, str]] = field(default_factory=list)  # of arguments and settings
    distance: float | None = None
    allowed: float | None = None
    detail: str = ""
    reproducer: str = ""
    changed_lines: list[Changed] = field(default_factory=list)  # of the scripts, where they are two

    @property
    def line(self) -> Place | None:
        """Where to look first."""
        return self.places[0] if self.places else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def describe(walk: Walk, parting: Parting, culprit: Culprit) -> Finding:
    """All that is known about a divergence, the most telling place first."""
    event = culprit.ours or culprit.reference
    if culprit.why == "missing":
        event = culprit.reference
    assert event is not None
    finding = Finding(
        step=event["step"],
        phase=_phase(parting, event),
        module=event["path"] or "(outside of modules)",
        operator=str(event.get("function") or event["name"]),
        what=parting.what,
        why=_WHY[culprit.why].format(name=culprit.name),
        distance=parting.verdict.distance,
        allowed=parting.verdict.allowed,
        detail=parting.verdict.detail,
    )
    if culprit.name and culprit.why != "input":
        finding.why += f" ({culprit.name})"
    settings = _module_settings(walk, event)
    finding.differences = _differences(culprit) + settings
    finding.places = _places(walk, culprit, event, {item["name"] for item in settings})
    return finding


def describe_asked(walk: Walk) -> Finding | None:
    """What was asked for differently, where no value parts; None where nothing can be shown."""
    if walk.asked is None:
        return None
    r, o = walk.asked
    finding = describe(walk, Parting(r, o, Verdict(True), "settings"), Culprit(o, r, "asked"))
    return finding if finding.differences else None


def _phase(parting: Parting, event: Event) -> str:
    if parting.what == "gradient":
        return "backward"
    return "forward" if event["kind"] in ("op", "enter", "exit") else str(event["kind"])


# --- what was asked for differently


def _differences(culprit: Culprit) -> list[dict[str, str]]:
    r, o = culprit.reference, culprit.ours
    if r is None or o is None:
        return []
    if "groups" in o and "groups" in r:
        return _group_differences(r, o)
    if o["kind"] != "op" or r["kind"] != "op":
        return []
    if o["name"] != r["name"]:
        return [_difference("operator", r["name"], o["name"])] + _free_constants(r, o)
    if r.get("autocast") != o.get("autocast"):
        return [_difference("autocast", r.get("autocast", "off"), o.get("autocast", "off"))]
    parameters = r.get("parameters") or o.get("parameters") or []
    theirs, ours = dict(_named(r, parameters)), dict(_named(o, parameters))
    for side, other in ((theirs, ours), (ours, theirs)):  # what is left out has its default
        side.update({k: text for k, text in parameters if text and k in other and k not in side})
    if set(theirs) == set(ours):
        return [_difference(k, theirs[k], ours[k]) for k in ours if theirs[k] != ours[k]]
    return _free_constants(r, o)


def _named(event: Event, parameters: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    names = [name for name, _ in parameters]
    names += [f"argument {i}" for i in range(len(names), len(event["arguments"]))]
    return [(name or names[i], _plain(text)) for i, (name, text) in enumerate(event["arguments"])]


def _plain(text: str) -> str:
    """A list is as good as a tuple."""
    return text.replace("[", "(").replace("]", ")").replace(",)", ")")


def _free_constants(r: Event, o: Event) -> list[dict[str, str]]:
    """Constants of the one call that the other lacks, where the arguments' names cannot be compared."""
    theirs = Counter(_plain(text) for _, text in r["arguments"] if "t[" not in text)
    ours = Counter(_plain(text) for _, text in o["arguments"] if "t[" not in text)
    only_r, only_o = list((theirs - ours).elements()), list((ours - theirs).elements())
    if not only_r and not only_o:
        return []
    return [_difference("constants", ", ".join(only_r) or "-", ", ".join(only_o) or "-")]


def _group_differences(r: Event, o: Event) -> list[dict[str, str]]:
    found = [] if r["name"] == o["name"] else [_difference("optimizer", r["name"], o["name"])]
    for theirs, ours in zip(r["groups"], o["groups"]):
        common = theirs.keys() & ours.keys()
        found += [_difference(k, theirs[k], ours[k]) for k in ours if k in common and theirs[k] != ours[k]]
    return found


def _module_settings(walk: Walk, event: Event) -> list[dict[str, str]]:
    """What is set differently in the module that runs, or in one around it."""
    path = event["path"]
    while path:
        o, r = walk.ours.entered.get(path), walk.reference.entered.get(path)
        if o is not None and r is not None:
            theirs, ours = r["settings"], o["settings"]
            names = [k for k in ours if k in theirs and ours[k] != theirs[k]]
            if names:
                return [_difference(k, theirs[k], ours[k]) | {"module": path} for k in names]
        path = path.rpartition(".")[0]
    return []


def _difference(name: str, reference: str, ours: str) -> dict[str, str]:
    return {"name": name, "reference": reference, "ours": ours}


# --- places


def _places(walk: Walk, culprit: Culprit, event: Event, settings: set[str]) -> list[Place]:
    sides = [
        ("ours", culprit.ours, walk.ours.entered.get(event["path"])),
        ("reference", culprit.reference, walk.reference.entered.get(event["path"])),
    ]
    if culprit.why == "missing" or _lacks_eval(sides):
        sides.reverse()  # what is to be added stands in the reference
    told = "mode set" if "training" in settings else "made" if settings else ""
    found = []
    for side, own, entered in sides:
        by_what = {
            "its backward": (own or {}).get("backward_site") if culprit.why == "gradient" else None,
            "mode set": (entered or {}).get("mode_set"),
            "made": (own or {}).get("made") or (entered or {}).get("made"),
            "schedule made": (own or {}).get("scheduled"),
            "here": (own or {}).get("site"),
            "module called": (entered or {}).get("site"),
        }
        if own is not None and "groups" in own:
            told = "schedule made" if _scheduled_otherwise(culprit) else "made"
        order = (
            sorted(by_what, key=lambda what: what != told)
            if told
            else ["its backward", "here", "module called", "made"]
        )
        found += [make_place(what, side, site) for what in order if (site := by_what[what])]
    unique = {(p.side, p.file, p.line): p for p in reversed(found)}
    return [p for p in found if unique[(p.side, p.file, p.line)] is p]


def _scheduled_otherwise(culprit: Culprit) -> bool:
    """Whether a schedule has set the rate differently, from the same rate at first."""
    r, o = culprit.reference, culprit.ours
    if r is None or o is None or not o.get("scheduled") or not r.get("scheduled"):
        return False
    pairs = list(zip(r["groups"], o["groups"]))
    return any(a.get("lr") != b.get("lr") for a, b in pairs) and all(
        a.get("initial_lr") == b.get("initial_lr") for a, b in pairs
    )


def changed_lines(reference: str, ours: str, most: int = 12) -> list[Changed]:
    """Where two versions of a script differ."""
    found: list[Changed] = []
    if os.path.samefile(reference, ours):
        return found
    texts = [linecache.getlines(path) for path in (reference, ours)]
    for kind, a, a_end, b, b_end in SequenceMatcher(None, texts[0], texts[1], autojunk=False).get_opcodes():
        if kind != "equal":
            found += [Changed("reference", i + 1, texts[0][i].strip()) for i in range(a, a_end)]
            found += [Changed("ours", i + 1, texts[1][i].strip()) for i in range(b, b_end)]
    return found[:most]


def _lacks_eval(sides: list[tuple[str, Event | None, Event | None]]) -> bool:
    """Whether the reference has switched a module to evaluation and ours has not."""
    ours, reference = sides[0][2], sides[1][2]
    if ours is None or reference is None or not reference.get("mode_set"):
        return False
    return (ours["settings"]["training"], reference["settings"]["training"]) == ("True", "False")


def amplified_at(event: Event | None) -> str:
    """Where rounding was amplified beyond the reference's spread for the first time."""
    if event is None:
        return ""
    site = f", {make_place('', '', event['site']).text()}" if event.get("site") else ""
    return f"step {event['step']}, {event['path'] or '(outside of modules)'}, {event['name']}{site}"


def make_place(what: str, side: str, site: tuple[str, int, str]) -> Place:
    """A site with its line of code."""
    file, line, function = site
    shown = os.path.relpath(file) if not os.path.relpath(file).startswith("..") else file
    return Place(what, side, shown, line, function, linecache.getline(file, line).strip())
