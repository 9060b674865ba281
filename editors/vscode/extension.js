// Shows in VS Code what `ms-adapter lsp` says of Python files: diagnostics, hover texts, one quick fix.
"use strict";

const vscode = require("vscode");
const { Connection } = require("./protocol");

const SELECTOR = { language: "python", scheme: "file" };
const SEVERITIES = [undefined, vscode.DiagnosticSeverity.Error, vscode.DiagnosticSeverity.Warning,
  vscode.DiagnosticSeverity.Information, vscode.DiagnosticSeverity.Hint];

let connection;

function rangeOf(range) {
  return new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
}

function diagnosticOf(found) {
  const made = new vscode.Diagnostic(rangeOf(found.range), found.message, SEVERITIES[found.severity]);
  made.source = found.source;
  made.code = found.code;
  return made;
}

function watched(document) {
  return vscode.languages.match(SELECTOR, document) > 0;
}

function identifier(document) {
  return { uri: document.uri.toString(), version: document.version };
}

function open(document) {
  if (!watched(document)) return;
  const item = { ...identifier(document), languageId: "python", text: document.getText() };
  connection.notify("textDocument/didOpen", { textDocument: item });
}

async function hover(document, position) {
  const found = await connection.request("textDocument/hover", { textDocument: identifier(document), position });
  return found && new vscode.Hover(new vscode.MarkdownString(found.contents.value), rangeOf(found.range));
}

async function actions(document, range) {
  const asked = { textDocument: identifier(document), range, context: { diagnostics: [] } };
  const found = await connection.request("textDocument/codeAction", asked);
  return (found || []).map((action) => {
    const made = new vscode.CodeAction(action.title, vscode.CodeActionKind.QuickFix);
    made.edit = new vscode.WorkspaceEdit();
    for (const [uri, edits] of Object.entries(action.edit.changes))
      for (const edit of edits) made.edit.replace(vscode.Uri.parse(uri), rangeOf(edit.range), edit.newText);
    return made;
  });
}

async function activate(context) {
  const shown = vscode.languages.createDiagnosticCollection("ms-adapter");
  const command = vscode.workspace.getConfiguration("ms-adapter").get("command");
  connection = new Connection(
    command,
    (method, params) => {
      if (method === "textDocument/publishDiagnostics")
        shown.set(vscode.Uri.parse(params.uri), params.diagnostics.map(diagnosticOf));
    },
    (reason) => { if (reason) vscode.window.showWarningMessage(`${command.join(" ")}: ${reason}`); },
  );
  await connection.request("initialize", { processId: process.pid, rootUri: null, capabilities: {} });
  connection.notify("initialized", {});
  vscode.workspace.textDocuments.forEach(open);
  context.subscriptions.push(
    shown,
    vscode.workspace.onDidOpenTextDocument(open),
    vscode.workspace.onDidChangeTextDocument(({ document }) => {
      if (!watched(document)) return;
      const contentChanges = [{ text: document.getText() }];
      connection.notify("textDocument/didChange", { textDocument: identifier(document), contentChanges });
    }),
    vscode.workspace.onDidCloseTextDocument((document) => {
      if (!watched(document)) return;
      shown.delete(document.uri);
      connection.notify("textDocument/didClose", { textDocument: identifier(document) });
    }),
    vscode.languages.registerHoverProvider(SELECTOR, { provideHover: hover }),
    vscode.languages.registerCodeActionsProvider(SELECTOR, { provideCodeActions: actions }),
  );
}

async function deactivate() {
  await connection.request("shutdown", null);
  connection.notify("exit", null);
}

module.exports = { activate, deactivate };
