"""`python -m ecosystem.imports`: how long libraries take to import under us and under PyTorch.

Fresh processes of both sides alternate. The process's own time is compared, as other programs on the machine
disturb it less than the time on the clock; both are shown, as medians.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from ecosystem.install import refuse_torch

ROOT = Path(__file__).parent.parent
STATEMENTS = (
    "import torch",
    "import transformers",
    "from transformers import AutoModelForCausalLM, Trainer",
    "import accelerate",
    "import peft",
    "import timm",
)
COLUMNS = ("statement", "s ours", "s PyTorch", "share", "s on the clock ours", "s on the clock PyTorch")
CHILD = """
import sys, time
from ecosystem.child import prepare
prepare(sys.argv[1])
exec(sys.argv[2])
print("@seconds", time.process_time())
"""


class Times(NamedTuple):
    """Seconds of one process: its own, and on the clock."""

    process: float
    clock: float


def measure(side: str, statement: str, torch_path: str) -> Times:
    """Run a statement in a fresh process, which starts and prepares the side, too."""
    paths = [str(ROOT)] if side == "ours" else [str(ROOT), torch_path]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "HF_HUB_OFFLINE": "1"}
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", CHILD, side, statement], env=env, capture_output=True, text=True
    )
    clock = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(f"{statement}, {side}:\n{done.stderr}")
    text = next(line for line in reversed(done.stdout.splitlines()) if line.startswith("@seconds"))
    return Times(float(text.split()[1]), clock)


def main() -> int:
    """The command; the exit code is 1 where an import takes longer under us."""
    parser = argparse.ArgumentParser(prog="python -m ecosystem.imports", description=__doc__)
    parser.add_argument("--torch-path", required=True, help="folder in which PyTorch is installed")
    parser.add_argument("--pairs", type=int, default=7, help="how many processes of each side (default: 7)")
    parser.add_argument("--only", default="", help="statements in which this expression is found")
    args = parser.parse_args()
    refuse_torch()
    torch_path = os.path.abspath(args.torch_path)
    print("| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS), sep="\n", flush=True)
    slower = False
    for statement in filter(re.compile(args.only).search, STATEMENTS):
        measured: dict[str, list[Times]] = {"ours": [], "torch": []}
        for _ in range(args.pairs):
            for side, times in measured.items():
                times.append(measure(side, statement, torch_path))
        ours, theirs = (
            [statistics.median(column) for column in zip(*times, strict=True)] for times in measured.values()
        )
        share = ours[0] / theirs[0]
        slower |= share > 1
        numbers = (ours[0], theirs[0], share, ours[1], theirs[1])
        print(f"| `{statement}` | " + " | ".join(f"{number:.2f}" for number in numbers) + " |", flush=True)
    return int(slower)


if __name__ == "__main__":
    sys.exit(main())
