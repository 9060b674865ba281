"""`python -m ecosystem.scripts`: public example scripts, unmodified, under us and under PyTorch."""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ecosystem import script_data
from ecosystem.install import refuse_torch

HERE = Path(__file__).parent
TABLE = HERE / "scripts.toml"
TIMEOUT_S = 900
COLUMNS = (
    "script",
    "steps",
    "difference",
    "PyTorch's own",
    "in float64",
    "s ours",
    "s PyTorch",
    "loop ours",
    "loop PyTorch",
    "result",
)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+\.\d+(?:e[-+]?\d+)?(?![\w.]*[\w])|(?<![\w.])nan(?!\w)")
SPREAD_FACTOR = 3.0  # our float32 may part from PyTorch by this much of what PyTorch parts from itself
SPREAD_FLOOR = 1e-5  # a hundred float32 roundings, where PyTorch's ways of computing happen to agree
FLOAT64_LIMIT = 1e-9
# PyTorch that rounds otherwise, run where we part by more than roundings: as on an older machine, and with
# its gradients and weights changed by a rounding in each step (script_child.py).
ELSEWHERE = {
    "torch-old": {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE"},
    "torch-nudged": {},
}


class Outcome(NamedTuple):
    """What one script did in its processes; `loop` is the time from each one's first backward to its end."""

    error: str | None
    numbers: list[float]
    resolution: float
    seconds: float
    log: str
    loop: float = 0.0


def fetch_commands(repositories: dict[str, Any]) -> Iterator[str]:
    """The commands that fetch every repository at its commit into the current folder."""
    for name, source in repositories.items():
        yield f"git clone -q {source['url']} {name} && git -C {name} checkout -q {source['commit']}"


def prepare(script: dict[str, Any], repository: Path, work: Path) -> Path:
    """Copy the script's folder into an empty folder, put its data beside it, and return where it runs."""
    folder = work / script.get("copy", script.get("folder", "."))
    source = repository / script.get("copy", script.get("folder", "."))
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns(".git"))
    here = work / script.get("folder", ".")
    for entry in script.get("data", []):
        maker, *arguments = shlex.split(entry)
        getattr(script_data, maker)(here, *arguments)
    return here


def run(side: str, dtype: str, script: dict[str, Any], here: Path, torch_path: str) -> Outcome:
    """Run the script's commands one after the other, each in a process of its own."""
    root = str(HERE.parent)
    paths = [root] if side in ("ours", "converted") else [root, str(HERE / "beside_torch"), torch_path]
    paths += [str(here / entry) for entry in script.get("path", [])]
    env = os.environ | {
        "PYTHONPATH": os.pathsep.join(paths),
        "MPLBACKEND": "Agg",
        "SDL_VIDEODRIVER": "dummy",
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "TORCH_HOME": str(here / "torch_home"),
    }
    env |= script.get("environment", {}) | ELSEWHERE.get(side, {})
    numbers: list[float] = []
    seconds, loop, log, resolution = 0.0, 0.0, "", 0.0
    for command in commands_of(side, script):
        notes = here / "ms_adapter_notes.json"
        notes.unlink(missing_ok=True)
        words = [
            sys.executable,
            "-m",
            "ecosystem.script_child",
            side,
            dtype,
            str(notes),
            *shlex.split(command),
        ]
        try:
            done = subprocess.run(
                words,
                env=env,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_S,
                cwd=here,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired:
            return Outcome(f"no end after {TIMEOUT_S} s", numbers, resolution, seconds, log)
        log += f"$ {command}\n{done.stdout}{done.stderr}"
        found: dict[str, Any] = {"losses": [], "seconds": 0.0, "loop": 0.0}
        if notes.exists():
            found = json.loads(notes.read_text())
        seconds, loop = seconds + found["seconds"], loop + found["loop"]
        if script.get("compare") == "printed":
            printed, coarsest = printed_numbers(done.stdout, script.get("ignore"))
            numbers, resolution = numbers + printed, max(resolution, coarsest)
        else:
            numbers += found["losses"]
        if done.returncode != 0:
            last = next((line for line in reversed(log.splitlines()) if line.strip()), "no output")
            return Outcome(f"exit code {done.returncode}: {last}", numbers, resolution, seconds, log)
    return Outcome(None, numbers, resolution, seconds, log, loop)


def commands_of(side: str, script: dict[str, Any]) -> list[str]:
    """The command lines of a script on one side."""
    commands = script["commands"] if side == "ours" else script.get("commands_torch", script["commands"])
    if "pretrained" in script:
        return [f"{HERE / 'pretrained.py'} {script['pretrained']}", *commands]
    return list(commands)


def printed_numbers(text: str, ignore: str | None) -> tuple[list[float], float]:
    """The fractional numbers in a script's output, and the step between neighbours of the coarsest of them.

    Example:
        >>> printed_numbers("loss 0.25 took 1.5s\\n", "took.*")
        ([0.25], 0.01)
    """
    if ignore:
        text = re.sub(ignore, "", text)
    words = NUMBER.findall(text)
    steps = (10.0 ** -len(re.sub(r"e.*", "", word).partition(".")[2]) for word in words if "e" not in word)
    return [float(word) for word in words], max(steps, default=0.0)


def largest_difference(got: list[float], want: list[float]) -> float:
    """The largest difference of two runs' numbers, relative to the number or to 1; inf where one is longer.

    Example:
        >>> largest_difference([1.0, 20.0], [1.0, 21.0])
        0.047619047619047616
    """
    if len(got) != len(want):
        return math.inf
    return max((_apart(a, b) for a, b in zip(got, want, strict=True)), default=0.0)


def _apart(a: float, b: float) -> float:
    if a == b or (math.isnan(a) and math.isnan(b)):
        return 0.0
    apart = abs(a - b) / max(1.0, abs(b))
    return math.inf if math.isnan(apart) else apart


class Judged(NamedTuple):
    """A row of the table."""

    script: str
    steps: int
    difference: float | None
    spread: float | None
    in_float64: float | None
    seconds_ours: float
    seconds_torch: float | None
    loop_ours: float | None
    loop_torch: float | None
    parts: bool
    fault: str | None

    def cells(self) -> list[str]:
        """The texts of the row's cells."""
        times = (self.seconds_ours, self.seconds_torch, self.loop_ours, self.loop_torch)
        return [
            self.script,
            str(self.steps),
            *("-" if number is None else f"{number:.0e}" for number in (self.difference, self.spread)),
            "-" if self.in_float64 is None else f"{self.in_float64:.0e}",
            *("-" if time is None else f"{time:.1f}" for time in times),
            "FAULT" if self.fault else "ends",
        ]


def judge(name: str, script: dict[str, Any], sides: dict[tuple[str, str], Outcome]) -> Judged:
    """Compare the runs of one script: (side, dtype) -> what it did."""
    ours = sides["ours", "float32"]
    if ("torch", "float32") not in sides:
        times = (ours.seconds, None, ours.loop or None, None)
        return Judged(name, len(ours.numbers), None, None, None, *times, False, ours.error)
    theirs = sides["torch", "float32"]
    difference = largest_difference(ours.numbers, theirs.numbers)
    others = [sides[side, "float32"] for side in ELSEWHERE if (side, "float32") in sides]
    spread = max((largest_difference(other.numbers, theirs.numbers) for other in others), default=None)
    allowed = max(SPREAD_FACTOR * (spread or 0.0), SPREAD_FLOOR, 1.01 * ours.resolution)
    fault = ours.error or (f"PyTorch: {theirs.error}" if theirs.error else None)
    if parts := not fault and difference > allowed:
        fault = f"parts from PyTorch by {difference:.2g}; {allowed:.2g} is allowed"
    wide = None
    if ("ours", "float64") in sides:
        wide_ours, wide_theirs = sides["ours", "float64"], sides["torch", "float64"]
        wide = largest_difference(wide_ours.numbers, wide_theirs.numbers)
        wrong = wide_ours.error or wide_theirs.error
        if wrong or wide > max(FLOAT64_LIMIT, 1.01 * wide_ours.resolution):
            fault = fault or f"in float64: {wrong or f'parts by {wide:.2g}'}"
    seconds = (ours.seconds, theirs.seconds)
    loops = (ours.loop or None, theirs.loop or None)
    return Judged(name, len(ours.numbers), difference, spread, wide, *seconds, *loops, parts, fault)


def runs_of(script: dict[str, Any]) -> list[tuple[str, str]]:
    """Which (side, dtype) a script is run with."""
    if not script.get("torch", True):
        return [("ours", "float32")]
    runs = [("ours", "float32"), ("torch", "float32")]
    return runs + ([("ours", "float64"), ("torch", "float64")] if script.get("float64") else [])


def rows(scripts: dict[str, Any], args: argparse.Namespace) -> Iterator[Judged]:
    """Run everything, and yield a row for each script."""
    for name, script in scripts.items():
        sides = {key: run_afresh(name, script, key, args) for key in runs_of(script)}
        judged = judge(name, script, sides)
        if judged.parts and script.get("spread", True):
            sides |= {key: run_afresh(name, script, key, args) for key in ((s, "float32") for s in ELSEWHERE)}
            judged = judge(name, script, sides)
        yield judged


def run_afresh(name: str, script: dict[str, Any], key: tuple[str, str], args: argparse.Namespace) -> Outcome:
    """Run a script on one side in a copy of its folder, and keep what it printed if that was asked for."""
    with tempfile.TemporaryDirectory(prefix="scripts-") as work:
        here = prepare(script, args.repositories / script["repository"], Path(work) / "work")
        outcome = run(*key, script, here, os.path.abspath(args.torch_path))
    if args.logs:
        args.logs.mkdir(parents=True, exist_ok=True)
        file = args.logs / f"{name}.{key[0]}.{key[1]}.log"
        file.write_text(f"{outcome.log}\nnumbers: {outcome.numbers}\n")
    return outcome


def main() -> int:
    """The command; the exit code is 1 where a script does not end under us, or parts from PyTorch."""
    parser = argparse.ArgumentParser(prog="python -m ecosystem.scripts", description=__doc__)
    parser.add_argument(
        "--repositories", type=Path, default=Path("repositories"), help="folder with the clones"
    )
    parser.add_argument("--fetch", action="store_true", help="print the commands that fetch them, and stop")
    parser.add_argument("--torch-path", help="folder in which PyTorch is installed")
    parser.add_argument("--only", default="", help="scripts whose name matches this expression")
    parser.add_argument("--logs", type=Path, help="write what each process printed into this folder")
    parser.add_argument("--json", type=Path, help="write the rows to this file, too")
    args = parser.parse_args()
    table = tomllib.loads(TABLE.read_text())
    if args.fetch:
        print("\n".join(fetch_commands(table["repositories"])))
        return 0
    refuse_torch()
    scripts = {n: s for n, s in table["scripts"].items() if re.search(args.only, n)}
    if absent := {s["repository"] for s in scripts.values()} - {p.name for p in args.repositories.glob("*")}:
        print(f"{args.repositories} lacks {', '.join(sorted(absent))}: run there what --fetch prints")
        return 2
    print("| " + " | ".join(COLUMNS) + " |", "|" + " --- |" * len(COLUMNS), sep="\n", flush=True)
    found = []
    for row in rows(scripts, args):
        found.append(row)
        print("| " + " | ".join(row.cells()) + " |", flush=True)
    for row in found:
        if row.fault:
            print(f"{row.script}: {row.fault}")
    if args.json:
        args.json.write_text(json.dumps([row._asdict() for row in found], indent=1))
    return int(any(row.fault for row in found))


if __name__ == "__main__":
    sys.exit(main())
