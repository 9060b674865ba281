"""The language server: the scan as diagnostics, a name's standing on hover, the conversion as a quick fix."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlparse

import libcst
from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

import ms_adapter
from ms_adapter.tools.converting.rewrite import rewrite
from ms_adapter.tools.scanning.findings import FileFindings, Findings, scan_sources
from ms_adapter.tools.scanning.program import Use
from ms_adapter.tools.scanning.source import from_text, siblings
from ms_adapter.tools.scanning.targets import MISSING, PARTLY, Standing, standing

SOURCE = "ms-adapter"
SEVERITIES = {MISSING: lsp.DiagnosticSeverity.Error, PARTLY: lsp.DiagnosticSeverity.Warning}

server = LanguageServer("ms-adapter", ms_adapter.__version__)
scanned: dict[str, FileFindings] = {}


def look_at(uri: str) -> FileFindings:
    """Scan a document as the editor has it now, with the files beside it as its project."""
    path = Path(unquote(urlparse(uri).path))
    text = server.workspace.get_text_document(uri).source
    found: Findings = scan_sources([path], [from_text(path, text), *siblings(path)])
    scanned[uri] = next(f for f in found.files if f.path == str(path))
    return scanned[uri]


def publish(uri: str) -> None:
    file = look_at(uri)
    shown = [d for use in file.uses if (d := diagnostic(file, use))]
    if file.error:
        at = re.search(r"at line (\d+)", file.error)
        where = line_range(int(at[1]) - 1 if at else 0)
        shown.append(lsp.Diagnostic(where, file.error, lsp.DiagnosticSeverity.Information, source=SOURCE))
    server.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, shown))


def diagnostic(file: FileFindings, use: Use) -> lsp.Diagnostic | None:
    """What the editor underlines: missing and partial names, and, as a hint, what is unsure."""
    if use.why:
        severity, code, text = (
            lsp.DiagnosticSeverity.Hint,
            "unsure",
            f"may be PyTorch's `{use.name}`: {use.why}",
        )
    else:
        s = standing(use.name)
        if s.cpu.word not in SEVERITIES:
            return None
        severity, code, text = SEVERITIES[s.cpu.word], s.cpu.word, f"{use.name}: {s.cpu.note}"
        if s.strategy is not None:
            text += f". What to do: {s.strategy}"
    return lsp.Diagnostic(range_of(file, use), text, severity, code=code, source=SOURCE)


def range_of(file: FileFindings, use: Use) -> lsp.Range:
    line, (first, last) = use.line - 1, file.columns(use, "utf-16-le")
    return lsp.Range(lsp.Position(line, first), lsp.Position(line, last))


def line_range(line: int) -> lsp.Range:
    return lsp.Range(lsp.Position(line, 0), lsp.Position(line + 1, 0))


def described(s: Standing) -> str:
    """The hover text."""
    rows = [("built-in cpu", s.cpu), ("MindSpore CPU", s.mindspore), ("MindSpore Ascend", s.ascend)]
    lines = [f"**{s.name}**", "", "| target | status | |", "| --- | --- | --- |"]
    lines += [f"| {target} | {status.word} | {status.note} |" for target, status in rows]
    if s.counterpart:
        lines += ["", f"In MindSpore: `{s.counterpart}`, {s.verdict}", "", *(f"- {d}" for d in s.differences)]
    elif s.verdict:
        lines += ["", f"In MindSpore: {s.verdict}"]
    if s.flags:
        lines += ["", f"To look at: {', '.join(s.flags)}."]
    if s.strategy is not None:
        lines += ["", f"What to do: {s.strategy}."]
        lines += ["", "```python", s.strategy.code, "```"] if s.strategy.code else []
    return "\n".join(lines)


def is_at(where: lsp.Range, at: lsp.Position) -> bool:
    return where.start.character <= at.character <= where.end.character


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def opened(params: lsp.DidOpenTextDocumentParams) -> None:
    publish(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
def changed(params: lsp.DidChangeTextDocumentParams) -> None:
    publish(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def closed(params: lsp.DidCloseTextDocumentParams) -> None:
    scanned.pop(params.text_document.uri, None)


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def hover(params: lsp.HoverParams) -> lsp.Hover | None:
    uri, at = params.text_document.uri, params.position
    file = scanned.get(uri) or look_at(uri)
    here = [u for u in file.sure if u.line - 1 == at.line and is_at(range_of(file, u), at)]
    if not here:
        return None
    texts = [described(standing(name)) for name in dict.fromkeys(u.name for u in here)]
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, "\n\n---\n\n".join(texts))
    return lsp.Hover(content, range_of(file, here[0]))


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION, lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix])
)
def actions(params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    """One fix for the whole document: its imports rewritten, as `ms-adapter convert` does."""
    document = server.workspace.get_text_document(params.text_document.uri)
    try:
        new = rewrite(document.source.encode())
    except libcst.ParserSyntaxError:
        return []
    if not new.changed:
        return []
    end = lsp.Position(len(document.lines), 0)
    edit = lsp.TextEdit(lsp.Range(lsp.Position(0, 0), end), new.data.decode())
    fix = lsp.WorkspaceEdit(changes={params.text_document.uri: [edit]})
    return [lsp.CodeAction("Import ms_adapter instead of torch", lsp.CodeActionKind.QuickFix, edit=fix)]
