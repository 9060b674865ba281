"""The language server, driven by pygls' own client over standard input and output."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pygls")
pytest.importorskip("libcst")

from lsprotocol import types as lsp  # noqa: E402
from pygls.lsp.client import LanguageClient  # noqa: E402

TEXT = """\
import torch
from helper import make
def f(model):
    return model.parameters()
make(3).relu()
"é𝒳"; torch.mkldnn_convolution()
"""


async def session(folder: Path) -> dict[str, Any]:
    """Open a document, ask for everything, change it, and leave."""
    client = LanguageClient("test", "1")
    published: asyncio.Queue = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def keep(params: lsp.PublishDiagnosticsParams) -> None:
        published.put_nowait(params.diagnostics)

    await client.start_io(sys.executable, "-m", "ms_adapter", "lsp")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities()))
    client.initialized(lsp.InitializedParams())
    uri = (folder / "main.py").as_uri()
    item = lsp.TextDocumentItem(uri, "python", 1, TEXT)
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(item))
    got: dict[str, Any] = {"opened": await asyncio.wait_for(published.get(), 60)}
    document = lsp.TextDocumentIdentifier(uri)
    at = lsp.HoverParams(document, lsp.Position(4, 9))
    got["hover"] = await client.text_document_hover_async(at)
    missing = lsp.HoverParams(document, lsp.Position(5, 17))
    got["missing"] = await client.text_document_hover_async(missing)
    nothing = lsp.HoverParams(document, lsp.Position(2, 0))
    got["nothing"] = await client.text_document_hover_async(nothing)
    everywhere = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 1))
    asked = lsp.CodeActionParams(document, everywhere, lsp.CodeActionContext([]))
    got["actions"] = await client.text_document_code_action_async(asked)
    whole = lsp.TextDocumentContentChangeWholeDocument("import torch\ntorch.ones(\n")
    version = lsp.VersionedTextDocumentIdentifier(2, uri)
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(version, [whole]))
    got["changed"] = await asyncio.wait_for(published.get(), 60)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return got


def test_a_session(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import torch\ndef make(n): return torch.ones(n)\n")
    (tmp_path / "main.py").write_text("not what the editor has")
    got = asyncio.run(session(tmp_path))
    assert [(d.range.start.line, d.code) for d in got["opened"]] == [(3, "unsure"), (5, "missing")]
    assert "What to do: use the function mkldnn_convolution" in got["opened"][1].message
    hover = got["hover"].contents.value
    assert hover.startswith("**torch.Tensor.relu**")
    assert "| built-in cpu | works | measured: " in hover
    assert "| MindSpore CPU | works | measured on MindSpore " in hover
    assert "| MindSpore Ascend | unmeasured | declared: mindspore." in hover
    assert "In MindSpore: " in hover
    assert "```python\ndef mkldnn_convolution(" in got["missing"].contents.value
    assert got["nothing"] is None
    (fix,) = got["actions"]
    (edit,) = next(iter(fix.edit.changes.values()))
    assert edit.new_text == TEXT.replace("import torch\n", "import ms_adapter.pytorch as torch\n")
    where = got["opened"][1].range  # in units of UTF-16, where 𝒳 has two
    assert (where.start.character, where.end.character) == (13, 13 + len("mkldnn_convolution"))
    (broken,) = got["changed"]
    assert broken.range.start.line == 1
    assert broken.message.startswith("cannot be parsed at line 2")


CLIENT = """
const { Connection } = require(process.argv[2]);
const server = new Connection([process.argv[3], "-m", "ms_adapter", "lsp"], (method, params) => {
  console.log(method, params.diagnostics.map((d) => d.code).join());
  server.request("shutdown", null).then(() => server.notify("exit", null));
}, (reason) => console.log("end", reason));
server.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} }).then(() => {
  server.notify("initialized", {});
  const textDocument = { uri: process.argv[4], languageId: "python", version: 1, text: process.argv[5] };
  server.notify("textDocument/didOpen", { textDocument });
});
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node: apt install nodejs")
def test_the_extensions_own_protocol(tmp_path: Path) -> None:
    protocol = Path(__file__).parent.parent / "editors" / "vscode" / "protocol.js"
    (tmp_path / "client.js").write_text(CLIENT)
    given = [str(protocol), sys.executable, (tmp_path / "main.py").as_uri(), TEXT]
    command = ["node", str(tmp_path / "client.js"), *given]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert ran.stdout.splitlines() == ["textDocument/publishDiagnostics unsure,unsure,missing", "end "]
