"""`ms-adapter lsp`."""

from __future__ import annotations

import argparse

from ms_adapter.tools.frame import EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen

EXAMPLES = """\
  ms-adapter lsp                   # an editor starts it and speaks over standard input and output
  ms-adapter lsp --port 7998       # on the loopback interface, for finding faults
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=int, help="listen on 127.0.0.1 instead of standard input and output")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    try:
        from .server import server
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "libcst"):
            raise
        raise ToolError(
            "lsp needs the package pygls: pip install 'ms_adapter[lsp]' (or pip install pygls)"
        ) from None
    if arguments.port is not None:
        server.start_tcp("127.0.0.1", arguments.port)
    else:
        server.start_io()
    return EXIT_SAME


TOOL = Tool("lsp", "serve the scan to editors", EXAMPLES, _add_arguments, _run)
