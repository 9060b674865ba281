"""Keeps what a run with `--device mindspore` measured: entry by entry, and for each public name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ms_adapter.mindspore._package import SUPPORTED
from ms_adapter.tools.on_mindspore import (
    COMPOSED,
    DIFFERS,
    DRAWN,
    FALLBACK,
    MEANING,
    MEMORY,
    NATIVE,
    WORST_FIRST,
    Ran,
)

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "ms_adapter" / "tools" / "on_mindspore.json"
GENERATOR = "generator"  # stands among the callables for random numbers
WORDS = {("on cpu" if word == FALLBACK else word): meaning for word, meaning in MEANING.items()}


def merge(run: dict[str, Any]) -> None:
    """Puts a run's records into the stored run, newer over older, and derives the names from all of them."""
    data = json.loads(DATA.read_text()) if DATA.exists() else {"entries": {}}
    counted = [i for i in run["items"] if i["exists"] and i["verdict"] not in ("skip", "missing")]
    data["entries"] |= {i["name"]: {"clean": i["clean"], "calls": calls_of(i)} for i in counted}
    head = {
        "mindspore": SUPPORTED,
        "target": "CPU",
        "date": run["date"],
        "commit": run["commit"],
        "samples": run["options"]["max_samples"],
    }
    write(head | {"entries": data["entries"], "names": names(data["entries"])})


def calls_of(item: dict[str, Any]) -> dict[str, list[str]]:
    """{row: callables that ran}, with "cpu" for calls computed there."""
    return {row: sorted(callables) for row, callables in sorted(item.get("calls", {}).items())}


def commit() -> str:
    """The commit that a run is of."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def write(data: dict[str, Any]) -> None:
    """One entry a line, so that a diff shows which changed."""

    def block(found: dict[str, Any]) -> str:
        return ",\n".join(f"  {json.dumps(name)}: {json.dumps(found[name])}" for name in sorted(found))

    head = ", ".join(
        f"{json.dumps(k)}: {json.dumps(v)}" for k, v in data.items() if k not in ("entries", "names")
    )
    parts = [f'"{part}": {{\n{block(data[part])}\n}}' for part in ("entries", "names")]
    DATA.write_text(f"{{{head},\n" + ",\n".join(parts) + "}\n")


def names(entries: dict[str, Any]) -> dict[str, list[Any]]:
    """Public name without `torch.` -> [word, callables, rows on cpu, its rows], of what the entries test."""
    from .support import SPACES, present, public_names, tests_of

    found = {}
    for space in SPACES:
        for name in public_names(space):
            path = f"{space}.{name}".lstrip(".")
            tested = {item for item, _ in tests_of(path)}
            mine = [e for key, e in entries.items() if key.rpartition("@")[0] in tested]
            if mine and present(space, name):
                ran = joined([standing(entry, own_rows(path)) for entry in mine], own_rows(path))
                found[path] = [ran.word, list(ran.callables), list(ran.on_cpu), list(ran.rows)]
    return found


def own_rows(path: str) -> tuple[str, ...]:
    """The registry's rows behind a public name; none for what is made in Python."""
    from .support import rows_of

    return tuple(sorted({row.label for row in rows_of(path)}))


def standing(entry: dict[str, Any], own: tuple[str, ...]) -> Ran:
    """An entry's calls as the word for a name with these rows."""
    calls = entry["calls"]
    on_cpu = tuple(row for row, callables in calls.items() if "cpu" in callables)
    direct = {c for row in own for c in calls.get(row, ())} - {"cpu"}
    every = {c for callables in calls.values() for c in callables} - {"cpu"}
    return Ran(word_for(entry["clean"], on_cpu, direct, every), tuple(sorted(direct or every)), on_cpu)


def word_for(clean: bool, on_cpu: tuple[str, ...], direct: set[str], every: set[str]) -> str:
    """The word for what ran: for the name's own rows, and for all that it is made of."""
    if not clean:
        return DIFFERS
    if on_cpu:
        return FALLBACK
    if (direct or every) == {GENERATOR}:
        return DRAWN
    return NATIVE if direct else COMPOSED if every else MEMORY


def joined(found: list[Ran], own: tuple[str, ...]) -> Ran:
    """Several entries of one name: the worst word, and what ran in any."""
    word = min((r.word for r in found), key=WORST_FIRST.index)
    callables = {c for r in found for c in r.callables}
    on_cpu = {row for r in found for row in r.on_cpu}
    return Ran(word, tuple(sorted(callables)), tuple(sorted(on_cpu)), own)


def cell(path: str, data: dict[str, Any]) -> str:
    """The support page's column: the word, with the callable that ran or the rows that went to cpu."""
    if path not in data["names"]:
        return " "
    word, callables, on_cpu, _ = data["names"][path]
    shown = on_cpu if word == FALLBACK else callables if word == NATIVE else []
    if word == FALLBACK:
        word = "on cpu"
    return f"{word}: {', '.join(f'`{c}`' for c in shown)}" if shown else word


def summary(data: dict[str, Any]) -> str:
    """The figures of the run, for the page's head."""
    entries = data["entries"]
    clean = [name for name, e in entries.items() if e["clean"]]
    native = [n for n in clean if not any("cpu" in c for c in entries[n]["calls"].values())]
    rest = ", ".join(f"`{name}`" for name in sorted(set(entries) - set(clean))) or "none"
    drawing = [n for n in native if any(GENERATOR in c for c in entries[n]["calls"].values())]
    share = f"{len(native) / len(entries):.1%}"
    return (
        f"{len(entries)} entries, {len(clean)} clean, {len(native)} of them with no call on `cpu` in any "
        f"phase or sample\n({share}; {len(drawing)} of these draw from the generator); not clean: {rest}."
    )
