"""ms-adapter lsp: the scan in an editor, over the Language Server Protocol."""
