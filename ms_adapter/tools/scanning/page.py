"""The scan as one HTML page that needs nothing beside it: summary, names, files."""

from __future__ import annotations

from html import escape
from pathlib import Path

from .findings import FileFindings, Findings
from .program import Use
from .targets import MISSING, OUTSIDE, PARTLY, WORKS, Standing, standing

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 84rem; padding: 0 1rem;
  color: #1b1f24; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dee4; vertical-align: top }
td.n { text-align: right; font-variant-numeric: tabular-nums }
code, pre { font: 13px ui-monospace, monospace }
td { overflow-wrap: anywhere } td.works, td.partly, td.missing, td.unmeasured { overflow-wrap: normal }
td details { margin: 0 } td ul { margin: .3rem 0; padding-left: 1.2rem }
.cards { display: flex; gap: 1rem; flex-wrap: wrap }
.card, pre { border: 1px solid #d8dee4; border-radius: .5rem; padding: .6rem 1rem; overflow-x: auto }
.card b { display: block; font-size: 1.5rem } details { margin: .4rem 0 } summary { cursor: pointer }
.works, .identical { color: #116329 } .partly, .differs { color: #9a6700 } .missing { color: #a40e26 }
.unsure, .unmeasured, .outside { color: #57606a }
input { font: inherit; padding: .3rem .6rem; width: 20rem; max-width: 100% }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3 } th, td, .card, pre { border-color: #30363d }
  .works, .identical { color: #3fb950 } .partly, .differs { color: #d29922 } .missing { color: #ff7b72 }
  .unsure, .unmeasured, .outside { color: #8b949e }
}
"""
FILTER = """
document.getElementById("filter").addEventListener("input", event => {
  const text = event.target.value.toLowerCase();
  for (const row of document.querySelectorAll("#names tbody tr"))
    row.hidden = !row.textContent.toLowerCase().includes(text);
});
"""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"  # nothing is ever loaded
WORDS = (WORKS, PARTLY, MISSING, OUTSIDE)


def page(found: Findings) -> str:
    """The text of the page."""
    title = "What becomes of this program's PyTorch"
    parts = [
        f"<h1>{title}</h1><p>{escape(found.effort()[0].upper() + found.effort()[1:])}.</p>",
        cards(found),
        "<h2>Names</h2><p><input id='filter' placeholder='filter' aria-label='filter names'></p>",
        names_table(found),
        ways_part(found),
        trace_part(found),
        "<h2>Files</h2>",
        *(file_part(f) for f in found.files if f.uses or f.error),
    ]
    policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head = f"<meta charset='utf-8'>{policy}<meta name='viewport' content='width=device-width'>"
    body = "".join(parts)
    head = f"<head>{head}<title>{title}</title><style>{STYLE}</style></head>"
    return f"<!doctype html><html lang='en'>{head}<body>{body}<script>{FILTER}</script></body></html>\n"


def cards(found: Findings) -> str:
    figures = [("files", len(found.files), ""), ("lines", found.lines, ""), ("names", len(found.names()), "")]
    figures += [(word, len(found.by_word(word)), word) for word in WORDS]
    figures.append(("unsure places", sum(len(f.unsure) for f in found.files), "unsure"))
    shown = "".join(f"<div class='card'><b class='{cls}'>{n:,}</b>{label}</div>" for label, n, cls in figures)
    return f"<div class='cards'>{shown}</div>"


def names_table(found: Findings) -> str:
    heads = (
        "name",
        "uses",
        "built-in cpu",
        "MindSpore CPU",
        "MindSpore Ascend",
        "in MindSpore",
        "to look at",
    )
    rows = []
    for name, count in found.names().most_common():
        s = standing(name)
        cells = [f"<td><code>{escape(name)}</code></td><td class='n'>{count}</td>"]
        for status in (s.cpu, s.mindspore, s.ascend):
            cells.append(f"<td class='{status.word}' title='{escape(status.note, True)}'>{status.word}</td>")
        cells.append(f"<td>{mapped(s)}</td><td>{escape(s.remark())}</td>")
        rows.append("".join(cells))
    return table(heads, rows, "names")


def mapped(s: Standing) -> str:
    """MindSpore's name, and where it differs, to be unfolded."""
    if not s.verdict:
        return "-"
    kind = s.verdict.partition(" ")[0]
    words = f"<span class='{kind}'>{escape(s.verdict)}</span>"
    line = f"<code>{escape(s.counterpart)}</code> {words}" if s.counterpart else words
    if not s.differences:
        return line
    items = "".join(f"<li>{escape(text)}</li>" for text in s.differences)
    return f"<details><summary>{line}</summary><ul>{items}</ul></details>"


def ways_part(found: Findings) -> str:
    """What to do about the names that are missing: each with its code, or the text of an issue."""
    issues, parts = found.issues(), []
    for name, way in found.strategies().items():
        text = way.code or issues.get(name, "")
        more = f"<pre>{escape(text)}</pre>" if text else ""
        line = f"<code>{escape(name)}</code> {way.kind}: {escape(str(way))}"
        parts.append(f"<details><summary>{line}</summary>{more}</details>" if more else f"<p>{line}</p>")
    return f"<h2>What to do about what is missing</h2>{''.join(parts)}" if parts else ""


def trace_part(found: Findings) -> str:
    """What the run called that the scan does not have."""
    if found.trace is None:
        return ""
    rows = [
        f"<td>{escape(f.place_of(line))}</td><td><code>{escape(name)}</code></td><td>{escape(calls.text())}</td>"
        for f in found.files
        for line, name, calls in f.unfound()
    ]
    command = escape(" ".join(found.trace.command))
    start = f"<h2>Called by <code>{command}</code> on {found.trace.engine}, and not found by the scan</h2>"
    return start + (table(("place", "name", "calls"), rows) if rows else "<p>Nothing.</p>")


def file_part(file: FileFindings) -> str:
    name = escape(Path(file.path).as_posix())
    if file.error:
        return f"<p class='missing'><code>{name}</code>: {escape(file.error)}</p>"
    rows = [use_row(file, use) for use in file.uses]
    summary = f"<code>{name}</code> {len(file.sure)} uses, {len(file.unsure)} unsure"
    return f"<details><summary>{summary}</summary>{table((), rows)}</details>"


def use_row(file: FileFindings, use: Use) -> str:
    word = "unsure" if use.why else standing(use.name).cpu.word
    told = f"unsure: {use.why}" if use.why else use.kind
    calls = file.calls(use)
    return (
        f"<td class='n'>{escape(file.place(use.line))}</td><td><code>{escape(use.name)}</code></td>"
        f"<td class='{word}'>{escape(told)}</td><td>{escape(calls.text()) if calls else ''}</td>"
    )


def table(heads: tuple[str, ...], rows: list[str], name: str = "") -> str:
    head = "".join(f"<th>{h}</th>" for h in heads)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return (
        f"<table{f' id={name}' if name else ''}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
