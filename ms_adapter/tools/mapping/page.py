"""The whole table as Markdown: docs/api-mapping.md."""

from __future__ import annotations

from collections.abc import Sequence

from .show import listing
from .table import DIFFERS, IDENTICAL, MISSING, UNMEASURED, VERDICTS, Record, data, records

HEAD = """# PyTorch's names and MindSpore's

What `ms-adapter map` knows, written by `ms-adapter map --page docs/api-mapping.md`: PyTorch {pytorch} against
MindSpore {mindspore}, measured on MindSpore's {target} target on {date}. [map.md](map.md) says how it was
measured and what the words mean.

- **identical**: the same parameters in the same order with the same defaults, and the same results on
  PyTorch's own samples.
- **differs in ...**: what is said beside it.
- **unmeasured**: the signatures fit as far as is known, but nothing could be run.
- **missing**: MindSpore has no public name for it that this table knows.

"""


def page() -> str:
    """docs/api-mapping.md."""
    spaces: dict[str, list[Record]] = {}
    for record in records():
        spaces.setdefault(record.name.rpartition(".")[0], []).append(record)
    lines = [HEAD.format(**data()) + _row(("namespace", "names", *VERDICTS)), "|" + " --- |" * 6]
    lines += [_row((space, len(found), *_counts(found))) for space, found in sorted(spaces.items())]
    everything = [r for found in spaces.values() for r in found]
    lines += [_row(("all", len(everything), *_counts(everything))), ""]
    for space, found in sorted(spaces.items()):
        lines += _section(space, found)
    return "\n".join(lines).rstrip() + "\n"


def _counts(found: Sequence[Record]) -> list[int]:
    return [sum(r.verdict == verdict for r in found) for verdict in VERDICTS]


def _section(space: str, found: Sequence[Record]) -> list[str]:
    lines = [f"## {space}", ""]
    mapped = [r for r in found if r.verdict in (IDENTICAL, DIFFERS, UNMEASURED)]
    if mapped:
        lines += ["| name | MindSpore | verdict | differences |", "|" + " --- |" * 4]
        lines += [_row((r.name.rpartition(".")[2], _short(r), r.summary, listing(r.best))) for r in mapped]
        lines.append("")
    missing = [r.name.rpartition(".")[2] for r in found if r.verdict == MISSING]
    if missing:
        lines += [f"Missing: {', '.join(f'`{name}`' for name in missing)}.", ""]
    return lines


def _short(record: Record) -> str:
    return f"`{record.counterpart.removeprefix('mindspore.')}`"


def _row(cells: Sequence[object]) -> str:
    return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
