"""`ms-adapter dump SCRIPT`: the runner with a dump around it."""

from __future__ import annotations

import argparse

from ms_adapter.tools.frame import EXIT_SAME, Tool
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
    add = parser.add_argument
    add(
        "--config", metavar="FILE", help="TOML or JSON with these settings; the options below are for one run"
    )
    add("--path", default=default.path, help=f"folder to write to (default {default.path})")
    add("--level", choices=("module", "operator"), default=default.level)
    add("--what", choices=("statistics", "tensor"), default=default.what)
    add("--tensors", default=default.tensors, help="of inputs,outputs,gradients (default: the last two)")
    add("--names", default="", metavar="REGEX", help="only what it matches in module/operator")
    add("--steps", default="", metavar="0-2,5", help="optimizer steps (default: all)")
    add(
        "--watch",
        choices=("nan", "inf"),
        default="",
        help="stop at the first one, and say where it came from",
    )
    add("--lines", action="store_true", help="write operators.jsonl, a line for each operator")
    add("--graph", default="", metavar="FILE", help="write the captured graph of each module called, as JSON")
    add("--background-mib", type=int, default=default.background_mib, help="0: write at once")
    add("script", metavar="SCRIPT")
    add("args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own arguments")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from dataclasses import fields

    from ms_adapter import run, torch_alias

    from .config import Settings, read_settings
    from .session import dump

    if arguments.config:
        settings = read_settings(arguments.config)
    else:
        known = (item.name for item in fields(Settings) if item.name != "name")
        settings = Settings(**{name: getattr(arguments, name) for name in known})
    torch_alias.install()
    screen.result["path"] = settings.path
    code = run.main([arguments.script, *arguments.args], around=dump(settings))
    screen.good(f"dumped to {settings.path}")
    return code or EXIT_SAME


TOOL = Tool("dump", "run a script and write its tensors or their statistics", EXAMPLES, _add_arguments, _run)
