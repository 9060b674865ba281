"""Runs the reference, its perturbed runs and ours side by side, a step at a time, until they part."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ms_adapter.tools.frame import ToolError

from .blame import Culprit, find_culprit
from .chunks import Chunk, read_chunk, remove_chunk
from .finding import Finding, changed_lines, describe, describe_asked, make_place
from .judge import Verdict
from .reproducer import write_reproducer
from .walk import Parting, Walk

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")
_PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_POLL_S = 0.01
_ENDING_S = 2.0


@dataclass
class Request:
    """What to verify: ours against the reference, and how long."""

    script: str
    args: Sequence[str] = ()
    reference_script: str | None = None  # another version of the script
    reference_python: str = sys.executable
    reference_engine: str = "pytorch"  # or "ours"
    engine: str = "ours"
    steps: int = 0  # optimizer steps; 0: to the end
    seed: int = 0
    spread_runs: int = 2
    device: str | None = None
    dtype: str | None = None
    most_elements: int = 1 << 18
    folder: str = "ms_adapter_verify"


@dataclass
class Outcome:
    """What came of it: no finding means that nothing but rounding differs."""

    finding: Finding | None
    steps: int
    compared: int
    output: dict[str, str] = field(default_factory=dict)  # what each side printed


class _Run:
    """One recorded process."""

    def __init__(self, name: str, python: str, request: dict[str, Any], folder: str) -> None:
        self.name = name
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)
        read_end, self._go = os.pipe()
        text = os.path.join(self.folder, "request.json")
        with open(text, "w", encoding="utf-8") as file:
            json.dump({**request, "folder": self.folder, "go": read_end, "package_root": _PACKAGE_ROOT}, file)
        self._output = open(os.path.join(self.folder, "output"), "wb")  # noqa: SIM115  # until `end`
        environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONUNBUFFERED": "1"}
        try:
            self.process = subprocess.Popen(
                [python, os.path.join(_CHILD, "__main__.py"), text],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[read_end],
                env=environment,
            )
        except OSError as error:
            raise ToolError(f"the interpreter {python} cannot be started: {error}") from error
        finally:
            os.close(read_end)

    def output(self) -> str:
        """What the process has printed."""
        with open(os.path.join(self.folder, "output"), "rb") as file:
            return file.read().decode("utf-8", "replace")

    def chunk(self, index: int) -> Chunk:
        """The chunk of that index, once it is there."""
        while True:
            ended = self.process.poll() is not None
            found = read_chunk(self.folder, index)
            if found is not None:
                return found
            if ended:
                last = "\n".join(self.output().strip().splitlines()[-8:])
                raise ToolError(f"the {self.name} run ended without its record:\n{last}")
            time.sleep(_POLL_S)

    def go_on(self, index: int) -> None:
        """Let it run the next step; forget the one that was compared."""
        remove_chunk(self.folder, index)
        try:
            os.write(self._go, b".")
        except BrokenPipeError:
            pass

    def end(self) -> None:
        """Stop the process if it still runs."""
        os.close(self._go)
        try:
            self.process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._output.close()


def verify_script(request: Request, progress: Callable[..., None] = lambda *args: None) -> Outcome:
    """Run everything; the outcome.

    Raises:
        ToolError: a process cannot be started, or left no record.
    """
    folder = tempfile.mkdtemp(prefix="ms-adapter-verify-")
    runs: list[_Run] = []
    try:
        runs = _start(request, folder)
        return _compare(request, runs, progress)
    finally:
        for run in runs:
            run.end()
        shutil.rmtree(folder, ignore_errors=True)


def _start(request: Request, folder: str) -> list[_Run]:
    """The reference, ours, and the perturbed runs."""
    common = {"args": list(request.args), "seed": request.seed, "most_elements": request.most_elements}
    reference = {
        **common,
        "script": os.path.abspath(request.reference_script or request.script),
        "engine": request.reference_engine,
    }
    ours = {
        **common,
        "script": os.path.abspath(request.script),
        "engine": request.engine,
        "device": request.device,
        "dtype": request.dtype,
    }
    for wanted in (request.reference_script or request.script, request.script):
        if not os.path.isfile(wanted):
            raise ToolError(f"there is no script {wanted}")
    python = sys.executable if request.reference_engine == "ours" else request.reference_python
    runs = [_Run("reference", python, reference, folder)]
    runs.append(_Run("ours", sys.executable, ours, folder))
    for i in range(request.spread_runs):
        runs.append(_Run(f"perturbed-{i + 1}", python, {**reference, "noise": i + 1}, folder))
    return runs


def _compare(request: Request, runs: list[_Run], progress: Callable[..., None]) -> Outcome:
    walk = Walk(check_dtype=request.dtype is None)
    index = 0
    finding = None
    while finding is None:
        reference, ours, *spreads = (run.chunk(index) for run in runs)
        parting = walk.chunk(reference, ours, spreads)
        if parting is not None:
            culprit = find_culprit(walk, parting)
            finding = describe(walk, parting, culprit)
            finding.reproducer = write_reproducer(request.folder, culprit, reference, ours, parting.pair)
        else:
            finding = _ending(walk, reference, ours)
        progress(1, f"step {walk.steps}")
        ended = reference.last or ours.last or (request.steps and walk.steps >= request.steps)
        if finding is None and ended:
            finding = describe_asked(walk)
        if ended:
            break
        if finding is None:
            for run in runs:
                run.go_on(index)
        index += 1
    if finding is None and walk.compared == 0:
        raise ToolError("nothing was compared: no operator, backward or optimizer step ran in both")
    if finding is not None:
        finding.changed_lines = changed_lines(request.reference_script or request.script, request.script)
    output = {run.name: run.output() for run in runs[:2]}
    return Outcome(finding, walk.steps, walk.compared, output)


def _ending(walk: Walk, reference: Chunk, ours: Chunk) -> Finding | None:
    """What an error, or an end on one side only, says."""
    if reference.error:
        raise ToolError(f"the reference run fails: {reference.error.strip()}")
    if reference.last == ours.last and not ours.error:
        return None
    ended, side = ("ours", walk.ours) if ours.last else ("the reference", walk.reference)
    events = ours.events or reference.events
    if not events:
        raise ToolError(ours.error or "nothing was recorded")
    event = events[-1]
    partner = reference.events[-1] if reference.events else None
    why = "error" if ours.error else "length"
    what = "an error" if ours.error else f"{ended} ended after {side.steps} steps"
    finding = describe(walk, Parting(partner, event, Verdict(False), what), Culprit(event, partner, why))
    finding.detail = (ours.error or "").strip()
    if ours.error_site:
        finding.places.insert(0, make_place("raised", "ours", ours.error_site))
    return finding
