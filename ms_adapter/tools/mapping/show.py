"""Records on the screen, and as plain values."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ms_adapter.tools.screen import Screen

from .table import DIFFERS, IDENTICAL, MISSING, UNMEASURED, Counterpart, Record, data

STYLES = {IDENTICAL: "bold green", DIFFERS: "bold yellow", UNMEASURED: "bold yellow", MISSING: "bold red"}
LISTED = 3  # differences of a name in a table


def plain(record: Record) -> dict[str, Any]:
    """A record for JSON."""
    return {
        "name": record.name,
        "kind": record.kind,
        "verdict": record.verdict,
        "signatures": list(record.signatures),
        "counterparts": [plain_counterpart(c) for c in record.counterparts],
    }


def plain_counterpart(counterpart: Counterpart) -> dict[str, Any]:
    values = dataclasses.asdict(counterpart)
    return values | {"counterpart": values.pop("name"), "checked": dict(counterpart.checked)}


def one(record: Record, screen: Screen) -> None:
    """A name with its counterparts, the best one in full."""
    best = record.best
    if best is None:
        _heading(record.name, MISSING, MISSING, screen)
        for text in record.signatures:
            screen.line(f"  {record.name}{text}")
        screen.line(f"MindSpore {data()['mindspore']} has no name for it that this table knows.")
        return
    _heading(f"{record.name} -> {best.name}", best.verdict, best.summary, screen)
    rows = [("PyTorch", record.name + text) for text in record.signatures]
    rows += [("MindSpore", best.name + text) for text in best.signatures]
    screen.table("", ("of", "signature"), rows)
    _details(best, screen)
    _both(record, best, screen)
    others = [(c.name, c.summary, listing(c)) for c in record.counterparts[1:]]
    if others:
        screen.table("other MindSpore names", ("name", "verdict", "differences"), others)


def _heading(text: str, verdict: str, words: str, screen: Screen) -> None:
    screen.line(f"{text}: {words}", STYLES[verdict])


def _details(best: Counterpart, screen: Screen) -> None:
    if best.differences:
        screen.table("differences", ("in", "what"), [(d.kind, d.text) for d in best.differences])
    if best.unmeasured:
        screen.line(f"not measured: {best.unmeasured}")
    if best.checked:
        dtypes = ", ".join(f"{dtype} {count}" for dtype, count in best.checked)
        screen.line(f"samples that agree, by dtype: {dtypes}")
    if best.gaps:
        screen.line(f"no kernel on MindSpore's CPU target: {', '.join(best.gaps)}")
    if best.without:
        screen.line(f"MindSpore takes no {', '.join(best.without)}")
    if best.platforms:
        screen.line(f"MindSpore documents it for {best.platforms}")
    if best.note:
        screen.line(best.note)


def _both(record: Record, best: Counterpart, screen: Screen) -> None:
    """The same call on both sides."""
    if not record.signatures or not best.signatures:
        return
    ours, theirs = example(record.name, record.signatures[0]), example(best.name, best.signatures[0])
    screen.line("one call on both sides:")
    screen.code(f"{ours}\n{theirs}")


def example(name: str, signature: str) -> str:
    """A call with what has to be given, by position: `torch.add(input, other)`."""
    owner, _, last = name.rpartition(".")
    called = f"tensor.{last}" if owner.endswith("Tensor") else name
    given = [p for p in signature.strip("()").split(", ") if p and "=" not in p and p[0] != "*"]
    return f"{called}({', '.join(given)})"


def many(found: Sequence[Record], screen: Screen) -> None:
    """A table, and the sums."""
    rows = [(r.name, r.summary, r.counterpart, listing(r.best)) for r in found]
    title = f"PyTorch {data()['pytorch']} -> MindSpore {data()['mindspore']} ({data()['target']})"
    screen.table(title, ("PyTorch", "verdict", "MindSpore", "differences"), rows)
    sums = {v: sum(r.verdict == v for r in found) for v in STYLES}
    screen.line(f"{len(found)} names: " + ", ".join(f"{n} {v}" for v, n in sums.items() if n))


def listing(best: Counterpart | None) -> str:
    """The differences in one cell."""
    if best is None:
        return ""
    texts = [d.text.split(", as `")[0] for d in best.differences]
    more = f"; and {len(texts) - LISTED} more" if len(texts) > LISTED else ""
    return "; ".join(texts[:LISTED]) + more or best.unmeasured


def from_mindspore(name: str, rows: Sequence[tuple[str, Record, Counterpart]], screen: Screen) -> None:
    """One of MindSpore's names with PyTorch's for it."""
    for _, record, counterpart in rows[:1]:
        _heading(f"{name} -> {record.name}", counterpart.verdict, counterpart.summary, screen)
        lines = [("MindSpore", name + text) for text in counterpart.signatures]
        lines += [("PyTorch", record.name + text) for text in record.signatures]
        screen.table("", ("of", "signature"), lines)
        _details(counterpart, screen)
        _both(record, counterpart, screen)
    if rows[1:]:
        others = [(record.name, counterpart.summary) for _, record, counterpart in rows[1:]]
        screen.table("other PyTorch names", ("name", "verdict"), others)


def many_from_mindspore(rows: Sequence[tuple[str, Record, Counterpart]], screen: Screen) -> None:
    cells = [(name, record.name, c.summary, listing(c)) for name, record, c in rows]
    title = f"MindSpore {data()['mindspore']} ({data()['target']}) -> PyTorch {data()['pytorch']}"
    screen.table(title, ("MindSpore", "PyTorch", "verdict", "differences"), cells)
