"""`ms-adapter verify SCRIPT`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_SAME, Tool
from ms_adapter.tools.screen import Screen, number

if TYPE_CHECKING:
    from .finding import Finding

EXAMPLES = """\
  ms-adapter verify train.py                                  # PyTorch here against ms_adapter
  ms-adapter verify --steps 3 train.py --epochs 1             # options of the script after its name
  ms-adapter verify --reference-python ~/torch/bin/python train.py
  ms-adapter verify --reference old.py new.py                 # two versions of a script
  ms-adapter verify --reference-engine ours --dtype float64 train.py
  ms-adapter verify --device mindspore train.py               # the device against PyTorch
  ms-adapter verify --compile mindspore train.py              # graph mode against PyTorch"""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--steps", type=_positive, default=0, metavar="N", help="stop after N optimizer steps")
    add("--reference", metavar="SCRIPT", help="another version of the script, as the reference")
    add("--reference-python", default=sys.executable, metavar="PYTHON", help="interpreter that has PyTorch")
    add(
        "--reference-engine",
        choices=("pytorch", "ours"),
        default="pytorch",
        help="what the reference runs on",
    )
    add("--engine", choices=("ours", "pytorch"), default="ours", help="what the script runs on")
    add("--device", help="default device of ours")
    add(
        "--compile",
        metavar="BACKEND",
        help="ours in graph mode, by this backend of torch.compile (mindspore, replay), the reference eager",
    )
    add("--dtype", choices=("float16", "bfloat16", "float32", "float64"), help="default dtype of ours")
    add("--seed", type=int, default=0, help="set in all runs before the script starts (default 0)")
    add("--spread-runs", type=int, default=2, metavar="N", help="perturbed runs of the reference (default 2)")
    add("--most-elements", type=_positive, default=1 << 18, metavar="N", help="of a tensor; larger: sampled")
    add("--out", default="ms_adapter_verify", metavar="FOLDER", help="where a reproducer is written")
    add("script", metavar="SCRIPT")
    add("args", nargs=argparse.REMAINDER, metavar="ARGS", help="the script's own arguments")


def _positive(text: str) -> int:
    found = int(text)
    if found < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return found


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from .session import Request, verify_script

    request = Request(
        script=arguments.script,
        args=arguments.args,
        reference_script=arguments.reference,
        reference_python=arguments.reference_python,
        reference_engine=arguments.reference_engine,
        engine=arguments.engine,
        steps=arguments.steps,
        seed=arguments.seed,
        spread_runs=arguments.spread_runs,
        device=arguments.device,
        compile=arguments.compile,
        dtype=arguments.dtype,
        most_elements=arguments.most_elements,
        folder=arguments.out,
    )
    with screen.progress("verifying") as progress:
        outcome = verify_script(request, progress)
    screen.result.update(
        same=outcome.finding is None,
        steps=outcome.steps,
        values_compared=outcome.compared,
        programs=outcome.programs,
        amplified={"values": outcome.amplified, "first": outcome.amplified_first},
        finding=outcome.finding.to_dict() if outcome.finding else None,
        output=outcome.output,
    )
    if arguments.compile and outcome.programs >= 0:
        screen.line(f"graph mode: {outcome.programs} graphs compiled by {arguments.compile}")
    if outcome.amplified:
        screen.line(
            f"rounding was amplified in {outcome.amplified} values, first in {outcome.amplified_first}"
        )
        screen.line("(the reference gets the same from the inputs that ours had: such values are no fault)")
    if outcome.finding is None:
        screen.good(f"no divergence: {outcome.steps} steps, {outcome.compared} values agree")
        return EXIT_SAME
    show(outcome.finding, screen)
    return EXIT_DIFFERS


def show(finding: Finding, screen: Screen) -> None:
    """The first divergence, as people read it."""
    where = f"step {finding.step}, {finding.phase}, {finding.module}"
    screen.bad(f"first divergence: {where}: {finding.operator}")
    screen.line(f"{finding.what}: {finding.why}")
    if finding.detail:
        screen.line(finding.detail)
    if finding.distance:
        screen.line(f"apart by {number(finding.distance)}; rounding explains {number(finding.allowed)}")
    if finding.places:
        rows = [(place.side, place.what, place.text(), place.code) for place in finding.places]
        screen.table("where", ("side", "what", "line", "code"), rows)
    if finding.differences:
        rows_ = [(d.get("module", ""), d["name"], d["reference"], d["ours"]) for d in finding.differences]
        screen.table("set differently", ("module", "name", "reference", "ours"), rows_)
    if finding.changed_lines:
        lines = [(changed.side, changed.line, changed.code) for changed in finding.changed_lines]
        screen.table("the scripts differ", ("side", ">line", "code"), lines)
    if finding.reproducer:
        screen.line(f"reproducer: {finding.reproducer}")


TOOL = Tool(
    "verify",
    "run a script under PyTorch and under ms_adapter, and find the first line where the numbers part",
    EXAMPLES,
    _add_arguments,
    _run,
)
