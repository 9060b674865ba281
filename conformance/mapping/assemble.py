"""Makes the data of `ms-adapter map` from what was measured: a verdict and the differences for each name."""

from __future__ import annotations

import datetime
import inspect
import json
import re
from typing import Any

import torch

from ..face import dotted
from . import fit, signatures
from .names import PAIRS, details, pairs

DATA = PAIRS.with_name("data.json")
KEPT = 3  # MindSpore names for one of PyTorch's
OVERLOADS = 4
HALVES = ("float16", "bfloat16")
# How an outcome is called in a difference, and which kind of difference it is.
RESULTS = {
    "near": ("precision", "results agree less closely"),
    "values": ("results", "other results"),
    "shape": ("results", "results of another shape"),
    "dtype": ("results", "results of another dtype"),
    "size": ("results", "results of another size"),
    "edges": ("edges", "other results for NaN, infinities, -0 or tensors without elements"),
    "random": ("random", "other random numbers"),
    "fields": ("fields", "the results have no names"),
    "raises": ("refused", "arguments refused that PyTorch takes"),
    "state": ("state", "other parameters"),
}


def write(chosen: dict[str, list[str]], outcomes: dict[str, Any], face: Any, partial: bool) -> None:
    """data.json; with `partial` only the names at hand are replaced."""
    old = json.loads(DATA.read_text())["names"] if partial and DATA.exists() else {}
    made = {path: record(path, found, outcomes, face) for path, found in chosen.items()}
    table = dict(sorted((old | made).items()))
    head = {
        "pytorch": torch.__version__.partition("+")[0],
        "mindspore": face.mod.__version__,
        "target": "CPU",
        "date": datetime.date.today().isoformat(),
    }
    lines = [f"  {json.dumps(name)}: {json.dumps(entry)}" for name, entry in table.items()]
    DATA.write_text(json.dumps(head)[:-1] + ',\n"names": {\n' + ",\n".join(lines) + "\n}}\n")


def record(path: str, found: list[str], outcomes: dict[str, Any], face: Any) -> dict[str, Any]:
    """All that is known of one of PyTorch's names."""
    ours = dotted(torch, path)
    own = overloads(ours, path)
    if kind_of(path, ours) == "value":
        return {"kind": "value", "signatures": [], "maps": values(ours, found, face)}
    maps = [
        counterpart(path, name, own, outcomes.get(f"{path} > {name}", {}), face.resolve(name))
        for name in found
    ]
    maps = sorted(
        (m for m in maps if likely(path, m)),
        key=lambda m: (*rank(m), not _namesakes(path, m["to"]), -agreement(m)),
    )
    return {"kind": kind_of(path, ours), "signatures": own, "maps": maps[:KEPT]}


def values(ours: Any, found: list[str], face: Any) -> list[dict[str, Any]]:
    """Dtypes and numbers: the same or not there."""
    made = []
    for name in found:
        theirs = face.resolve(name)
        dtype = isinstance(ours, torch.dtype) and face.dtype_name(theirs) == str(ours)[6:]
        if dtype or (isinstance(ours, (int, float, str)) and repr(ours) == repr(theirs)):
            made.append({"to": name, "verdict": "identical", "checked": {}})
    return made


def likely(path: str, entry: dict[str, Any]) -> bool:
    """Whether it is called the same, listed by hand, or differs little: what the registry builds an operator
    from need not do the same by itself."""
    return _namesakes(path, entry["to"]) or entry["to"] in pairs().get(path, {}) or rank(entry)[0] < 2


def agreement(entry: dict[str, Any]) -> float:
    """The share of the samples that agree."""
    counts = [tuple(map(int, count.split(" of "))) for count in entry["checked"].values()]
    return sum(good for good, _ in counts) / max(1, sum(every for _, every in counts))


def _namesakes(path: str, name: str) -> bool:
    return path.rpartition(".")[2].lower() == name.rpartition(".")[2].lower()


def kind_of(path: str, found: Any) -> str:
    if path.startswith(("torch.Tensor.", "torch.nn.Module.", "torch.optim.Optimizer.")):
        return "method" if callable(found) else "attribute"
    if inspect.isclass(found):
        return "class"
    return "function" if callable(found) else "value"


def overloads(found: Any, path: str) -> list[str]:
    """The signatures as text."""
    if not callable(found):
        return []
    method = path.rpartition(".")[0].rpartition(".")[2][:1].isupper()
    try:
        return [signatures.text(s) for s in signatures.of(found, method)][:OVERLOADS]
    except ValueError:
        return []


def counterpart(
    path: str, name: str, own: list[str], measured: dict[str, Any], theirs: Any
) -> dict[str, Any]:
    """One of MindSpore's names: how it differs, and the verdict."""
    known = details(path, name)
    offered = overloads(theirs, name)
    differences: list[list[str]] = [["semantics", text] for text in known.get("differs", [])]
    differences += [["edges", text] for text in known.get("edges", [])]
    wanted, given = parsed(own), parsed(offered)
    operator = path.endswith("__")  # which has its form from the language
    found, without = fit.fit(wanted, given, known.get("names")) if wanted and not operator else ([], [])
    differences += [list(d) for d in found]
    if given and wanted != given and not operator and all(p.kind in ("*", "**") for p in given[0]):
        differences.append(["names", "its parameters are not declared"])
    results, gaps, state = of_results(measured)
    differences += results
    entry: dict[str, Any] = {"to": name, "verdict": verdict(differences, state)}
    entry["checked"] = {d: _count(outcome) for d, outcome in measured.items()}
    optional = {
        "signatures": offered,
        "differences": differences,
        "without": without,
        "gaps": gaps,
        "platforms": platforms(theirs),
        "note": known.get("note", ""),
        "unmeasured": state if entry["verdict"] == "unmeasured" else "",
    }
    return entry | {key: value for key, value in optional.items() if value}


def parsed(texts: list[str]) -> list[signatures.Signature]:
    """Signatures from text, those that can be read."""
    return [s for t in texts if (s := signatures.parsed(t)) is not None]


def _count(outcome: dict[str, Any]) -> str:
    """`5 of 6`: the samples that agree."""
    counts = {k: n for k, n in outcome.items() if not k.endswith(":")}
    return f"{counts.get('ok', 0)} of {sum(counts.values())}"


def verdict(differences: list[list[str]], state: str) -> str:
    if differences:
        return "differs"
    return "unmeasured" if state else "identical"


def of_results(measured: dict[str, Any]) -> tuple[list[list[str]], list[str], str]:
    """The differences that the samples show; half dtypes without kernels; why nothing was measured, if so."""
    measured = {d: o for d, o in measured.items() if o}
    if not measured:
        return [], [], "no samples to call it with"
    kinds = {d: {k: n for k, n in o.items() if not k.endswith(":")} for d, o in measured.items()}
    nothing = [d for d, counts in kinds.items() if set(counts) == {"kernel"}]
    if len(nothing) == len(kinds):
        return [], [], "no kernel on MindSpore's CPU target"
    gaps = [d for d in HALVES if "kernel" in kinds.get(d, ())]
    nothing = [d for d in nothing if d not in gaps]
    differences: list[list[str]] = []
    if nothing:
        differences.append(["dtypes", f"no {', '.join(nothing)} on the CPU target"])
    for kind, (word, text) in RESULTS.items():
        where = [d for d, counts in kinds.items() if kind in counts]
        if where:
            differences.append([word, f"{text} ({', '.join(where)}){_example(measured, where, kind)}"])
    if ends := [d for d, counts in kinds.items() if "ends" in counts]:
        differences.append(["ends", f"ends the process on some input ({', '.join(ends)})"])
    partly = [d for d, counts in kinds.items() if "kernel" in counts and d not in (*nothing, *gaps)]
    if partly:
        text = f"some arguments have no kernel on the CPU target ({', '.join(partly)})"
        differences.append(["dtypes", text + _example(measured, partly, "kernel")])
    return differences, gaps, ""


def _example(measured: dict[str, Any], where: list[str], kind: str) -> str:
    for dtype in where:
        if found := measured[dtype].get(f"{kind}:"):
            call, text = found
            return f", as `{call}`: {_plain(text)}" if call else f": {_plain(text)}"
    return ""


def _plain(text: str) -> str:
    """A finding of the comparison in few words."""
    text = re.sub(r"^values: ", "", " ".join(text.split()))
    text = re.split(r",? *Please (?:confirm|create)", text)[0]  # MindSpore's advice
    if m := re.search(r"Greatest absolute difference: (\S+)", text):
        if m.group(1) == "0":
            return "other values"
        text = (
            f"{text.split('values:')[0].rstrip() + ' ' if 'values:' in text else ''}up to {m.group(1)} apart"
        )
    return text


def platforms(found: Any) -> str:
    """What MindSpore's documentation declares."""
    m = re.search(r"Supported Platforms:\s*\n\s*(.*)", getattr(found, "__doc__", None) or "")
    return ", ".join(re.findall(r"``(\w+)``", m.group(1))) if m else ""


LIGHT = {"dtypes", "edges", "precision", "random", "fields", "names"}  # before a name that could not be run
WEIGHT = dict.fromkeys(LIGHT, 1) | {"defaults": 2, "extra": 3}


def rank(entry: dict[str, Any]) -> tuple[int, int]:
    """Identical before what differs little, that before what is unmeasured, then the rest."""
    weight = sum(WEIGHT.get(kind, 4) for kind, _ in entry.get("differences", []))
    if entry["verdict"] == "identical":
        return 0, 0
    if entry["verdict"] == "unmeasured":
        return 2, 0
    light = all(kind in LIGHT for kind, _ in entry["differences"])
    return (1 if light else 3), weight
