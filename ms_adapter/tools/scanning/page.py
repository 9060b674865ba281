"""The scan as one HTML page that needs nothing beside it: summary, names, files."""

from __future__ import annotations

from html import escape
from pathlib import Path

from .findings import FileFindings, Findings
from .targets import MISSING, OUTSIDE, PARTLY, UNMEASURED, WORKS, standing

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
  color: #1b1f24; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem; border-bottom: 1px solid #d8dee4; vertical-align: top }
td.n { text-align: right; font-variant-numeric: tabular-nums } code { font: 13px ui-monospace, monospace }
.cards { display: flex; gap: 1rem; flex-wrap: wrap }
.card { border: 1px solid #d8dee4; border-radius: .5rem; padding: .6rem 1rem }
.card b { display: block; font-size: 1.5rem } details { margin: .4rem 0 } summary { cursor: pointer }
.works { color: #116329 } .partly { color: #9a6700 } .missing { color: #a40e26 }
.unsure, .unmeasured, .outside { color: #57606a }
input { font: inherit; padding: .3rem .6rem; width: 20rem; max-width: 100% }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3 } th, td, .card { border-color: #30363d }
  .works { color: #3fb950 } .partly { color: #d29922 } .missing { color: #ff7b72 }
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
    rows = []
    for name, count in found.names().most_common():
        s = standing(name)
        cells = [f"<td><code>{escape(name)}</code></td><td class='n'>{count}</td>"]
        for status in (s.cpu, s.mindspore, s.ascend):
            word = status.word if status.word != UNMEASURED else "unmeasured"
            cells.append(f"<td class='{word}' title='{escape(status.note, True)}'>{word}</td>")
        cells.append(f"<td><code>{escape(s.counterpart) or '-'}</code></td>")
        cells.append(
            f"<td>{escape('; '.join(filter(None, [note_of(s.cpu.word, s.cpu.note), *s.flags])))}</td>"
        )
        rows.append(f"<tr>{''.join(cells)}</tr>")
    heads = (
        "name",
        "uses",
        "built-in cpu",
        "MindSpore CPU",
        "MindSpore Ascend",
        "in MindSpore",
        "to look at",
    )
    head = "".join(f"<th>{h}</th>" for h in heads)
    return f"<table id='names'><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def note_of(word: str, note: str) -> str:
    return note if word in (MISSING, PARTLY, OUTSIDE) else ""


def file_part(file: FileFindings) -> str:
    name = escape(Path(file.path).as_posix())
    if file.error:
        return f"<p class='missing'><code>{name}</code>: {escape(file.error)}</p>"
    rows = "".join(
        f"<tr><td class='n'>{escape(file.place(u.line))}</td><td><code>{escape(u.name)}</code></td>"
        f"<td class='{'unsure' if u.why else standing(u.name).cpu.word}'>"
        f"{'unsure: ' + escape(u.why) if u.why else u.kind}</td></tr>"
        for u in file.uses
    )
    return (
        f"<details><summary><code>{name}</code> {len(file.sure)} uses, {len(file.unsure)} unsure</summary>"
        f"<table><tbody>{rows}</tbody></table></details>"
    )
