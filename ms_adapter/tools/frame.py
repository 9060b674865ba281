"""What all subcommands share: arguments, exit codes, errors, `--json`. How one is added: docs/tools.md."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

from ms_adapter.tools.screen import Screen

EXIT_SAME = 0
EXIT_DIFFERS = 1
EXIT_ERROR = 2


class ToolError(Exception):
    """The tool cannot do what was asked; the text says why and what to do. Exit code 2."""


class _BadArguments(Exception):
    """The parser that found them, and what it says."""

    def __init__(self, parser: argparse.ArgumentParser, text: str) -> None:
        super().__init__(text)
        self.parser = parser


class _Parser(argparse.ArgumentParser):
    """Raises, so that with --json arguments that make no sense are an object on stdout like all errors."""

    def error(self, message: str) -> NoReturn:
        raise _BadArguments(self, message)


class Tool(NamedTuple):
    """A subcommand: `run` returns the exit code and leaves its findings in `screen.result`."""

    name: str
    summary: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace, Screen], int]

    def parser(self) -> argparse.ArgumentParser:
        """The argument parser, with what all tools understand."""
        parser = _Parser(
            prog=f"ms-adapter {self.name}",
            description=self.summary[0].upper() + self.summary[1:] + ".",
            epilog=f"examples:\n{self.examples.rstrip()}\n\n"
            "exit codes: 0 nothing found, 1 differences or problems found, 2 the tool could not do its work",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self.add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
        return parser

    def main(self, argv: list[str] | None = None) -> int:
        """Parse the arguments, run, and report errors the same way everywhere."""
        try:
            arguments = self.parser().parse_args(argv)
        except _BadArguments as error:
            if "--json" in (sys.argv[1:] if argv is None else argv):
                return _fail(self.name, str(error), Screen(as_json=True))
            argparse.ArgumentParser.error(error.parser, str(error))
        screen = Screen(as_json=arguments.json)
        try:
            code = self.run(arguments, screen)
        except (ToolError, OSError) as error:
            return _fail(self.name, str(error), screen)
        except KeyboardInterrupt:
            return _fail(self.name, "interrupted", screen)
        finally:
            screen.close()
        if screen.as_json:
            _print_json({**screen.result, "exit_code": code})
        return code


def _fail(name: str, text: str, screen: Screen) -> int:
    if screen.as_json:
        _print_json({**screen.result, "error": text, "exit_code": EXIT_ERROR})
    else:
        print(f"ms-adapter {name}: {text}", file=sys.stderr)
    return EXIT_ERROR


def _print_json(result: dict[str, Any]) -> None:
    text = json.dumps(_plain(result), indent=2, default=str, allow_nan=False)
    try:
        print(text, flush=True)
    except BrokenPipeError:  # `| head` has seen enough
        sys.stdout = None  # type: ignore[assignment]  # Python would complain when it flushes at its end


def _plain(value: Any) -> Any:
    """The value with what JSON has no number for (NaN, infinities) as text."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return repr(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
