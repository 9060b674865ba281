"""The command `ms-adapter`: one table of subcommands, each loaded only when it is asked for."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import ms_adapter


class Command(NamedTuple):
    """A subcommand: where the function is that takes its arguments and returns the exit code; its line of
    help. `ms_adapter.tools` has those with tables and `--json`: a `Tool` each, whose `main` stands here."""

    module: str
    function: str
    summary: str


COMMANDS = {
    "run": Command("ms_adapter.run", "main", "run a PyTorch script: `import torch` means ms_adapter"),
    "compare": Command(
        "ms_adapter.tools.comparison.command", "TOOL.main", "compare tensors, files and folders"
    ),
    "scan": Command(
        "ms_adapter.tools.scanning.command", "TOOL.main", "list the uses of PyTorch's API in a program"
    ),
    "map": Command(
        "ms_adapter.tools.mapping.command", "TOOL.main", "show what MindSpore calls a name of PyTorch's"
    ),
    "verify": Command(
        "ms_adapter.tools.verification.command", "TOOL.main", "find the first line that differs from PyTorch"
    ),
    "dump": Command("ms_adapter.tools.dumping.command", "TOOL.main", "run a script and write its tensors"),
    "doctor": Command("ms_adapter.tools.doctor", "TOOL.main", "check the installation, and say what to do"),
    "convert": Command("ms_adapter.tools.converting.command", "TOOL.main", "rewrite a program's imports"),
    "ckpt": Command(
        "ms_adapter.tools.checkpoints.command", "TOOL.main", "convert checkpoints to MindSpore's and back"
    ),
    "lsp": Command("ms_adapter.tools.editor.command", "TOOL.main", "serve the scan to editors"),
    "completion": Command("ms_adapter.tools.completion", "TOOL.main", "print a shell's completion script"),
}


def load(command: Command) -> Callable[[list[str]], int]:
    """The function of a subcommand, whose module is imported only now."""
    found: Any = importlib.import_module(command.module)
    for part in command.function.split("."):
        found = getattr(found, part)
    return found


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
    return load(command)(args)
