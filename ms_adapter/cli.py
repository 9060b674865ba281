"""The command `ms-adapter`: one table of subcommands, each loaded only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from typing import NamedTuple

import ms_adapter


class Command(NamedTuple):
    """A subcommand: the function that takes its arguments and returns the exit code; its line of help."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "run": Command("ms_adapter.run", "main", "run a PyTorch script: `import torch` means ms_adapter"),
}


def usage() -> str:
    """The help text, from the table."""
    rows = "\n".join(f"  {name:10} {command.summary}" for name, command in COMMANDS.items())
    return (
        "usage: ms-adapter COMMAND [ARGS ...]\n\n"
        f"{rows}\n\n"
        "`ms-adapter COMMAND --help` tells more; `ms-adapter --version` prints the version.\n"
    )


def main(argv: list[str] | None = None) -> int:
    """Run a subcommand and return the exit code."""
    name, *args = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("-h", "--help"):
        print(usage(), end="")
        return 0
    if name == "--version":
        print(f"ms-adapter {ms_adapter.__version__}")
        return 0
    command = COMMANDS.get(name)
    if command is None:
        print(f"ms-adapter: unknown command {name!r}\n\n{usage()}", end="", file=sys.stderr)
        return 2
    return getattr(importlib.import_module(command.module), command.function)(args)
