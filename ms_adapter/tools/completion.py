"""`ms-adapter completion SHELL`: the script with which a shell completes the command's words."""

from __future__ import annotations

import argparse

from ms_adapter.tools.frame import EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen

SHELLS = ("bash", "zsh", "tcsh")

EXAMPLES = """\
  ms-adapter completion bash > ~/.local/share/bash-completion/completions/ms-adapter
  ms-adapter completion zsh > ~/.zfunc/_ms-adapter        # with ~/.zfunc in fpath
"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


def _root() -> argparse.ArgumentParser:
    """One parser of all subcommands: what completes is what they parse."""
    from ms_adapter import cli

    root = argparse.ArgumentParser(prog="ms-adapter")
    root.add_argument("--version", action="store_true")
    commands = root.add_subparsers(dest="command")
    for name, command in cli.COMMANDS.items():
        tool = getattr(cli.load(command), "__self__", None)
        if isinstance(tool, Tool):
            parser = tool.parser()
            commands.add_parser(name, parents=[parser], add_help=False, help=command.summary)
        else:
            commands.add_parser(name, help=command.summary)
    return root


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    try:
        import shtab
    except ImportError:
        raise ToolError(
            "completion needs the package shtab: pip install 'ms_adapter[tools]' (or pip install shtab)"
        ) from None
    script = shtab.complete(_root(), arguments.shell)
    screen.result["script"] = script
    if not screen.as_json:
        print(script)
    return EXIT_SAME


TOOL = Tool("completion", "print the completion script of a shell", EXAMPLES, _add_arguments, _run)
