"""`ms-adapter dump SCRIPT`: the runner with a dump around it."""

from __future__ import annotations

import argparse
import contextlib
import sys
import traceback
from typing import Any

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_SAME, Tool, ToolError
from ms_adapter.tools.screen import Screen

EXAMPLES = """\
  ms-adapter dump train.py                                   # statistics of all modules
  ms-adapter dump --level operator --what tensor --steps 0-2 train.py
  ms-adapter dump --names 'encoder\\.' --watch nan train.py   # stop at the first NaN
  ms-adapter dump --graph graph.json train.py                # the captured graph of the model, too
  ms-adapter run --dump dump.toml train.py                   # the same from a file
  ms-adapter compare dump_a dump_b                           # two dumps"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from .config import Settings

    default = Settings()

    def add(*names: str, **about: Any) -> None:
        parser.add_argument(*names, default=argparse.SUPPRESS, **about)  # what is not given is the file's

    parser.add_argument(
        "--config", metavar="FILE", help="TOML or JSON with these settings; the options below go before it"
    )
    add("--path", help=f"folder to write to (default {default.path})")
    add("--level", choices=("module", "operator"))
    add("--what", choices=("statistics", "tensor"))
    add("--tensors", help="of inputs,outputs,gradients (default: the last two)")
    add("--names", metavar="REGEX", help="only what it matches in module/operator")
    add("--steps", metavar="0-2,5", help="optimizer steps (default: all)")
    add("--watch", choices=("nan", "inf"), help="stop at the first one, and say where it came from")
    add("--lines", action="store_true", help="write operators.jsonl, a line for each operator")
    add("--graph", metavar="FILE", help="write the captured graph of each module called, as JSON")
    add("--background-mib", type=int, metavar="MIB", help="0: write at once")
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own arguments")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from dataclasses import fields, replace

    from ms_adapter import run, torch_alias

    from .config import Settings, read_settings
    from .session import dump

    settings = read_settings(arguments.config) if arguments.config else Settings()
    known = {item.name for item in fields(Settings)}
    settings = replace(settings, **{name: v for name, v in vars(arguments).items() if name in known})
    torch_alias.install()
    screen.result["path"] = settings.path
    given = [arguments.script, *arguments.args]
    try:
        # Nothing but the object is on stdout.
        with contextlib.redirect_stdout(sys.stderr) if screen.as_json else contextlib.nullcontext():
            code = run.main(given, around=dump(settings))
    except (Exception, SystemExit) as error:
        if not screen.as_json or isinstance(error, ToolError):
            raise
        return _ended(error, screen)
    screen.good(f"dumped to {settings.path}")
    return code or EXIT_SAME


def _ended(error: Exception | SystemExit, screen: Screen) -> int:
    """What Python would do with it, and the object that --json promises."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            return error.code or EXIT_SAME
        print(error.code, file=sys.stderr)
    else:
        traceback.print_exc()
    screen.result["error"] = str(error)
    return EXIT_DIFFERS


TOOL = Tool("dump", "run a script and write its tensors or their statistics", EXAMPLES, _add_arguments, _run)
