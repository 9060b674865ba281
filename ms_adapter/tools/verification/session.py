"""Runs the reference, its perturbed runs and ours side by side, a step at a time, until they part."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from ms_adapter.tools.frame import ToolError

from .blame import Culprit, find_culprit
from .chunks import Chunk
from .finding import Finding, amplified_at, changed_lines, describe, describe_asked, make_place
from .judge import Verdict
from .pardon import Pardon
from .processes import Launchers, Run
from .replays import ReplayProcess
from .reproducer import write_reproducer
from .walk import Parting, Walk


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
    compile: str | None = None  # a backend of torch.compile: ours runs in graph mode
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
    amplified: int = 0  # values that part by amplified rounding
    amplified_first: str = ""  # where that began
    programs: int = -1  # graphs that ours compiled, where they are counted


def verify_script(
    request: Request,
    progress: Callable[..., None] = lambda *args: None,
    launchers: Launchers | None = None,
) -> Outcome:
    """Run everything; the outcome. `launchers` that are given stay for the next call.

    Raises:
        ToolError: a process cannot be started, or left no record.
    """
    folder = tempfile.mkdtemp(prefix="ms-adapter-verify-")
    runs: list[Run] = []
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        launchers = launchers or stack.enter_context(Launchers())
        stack.callback(launchers.close_used)
        stack.callback(_end, runs)
        _start(request, folder, launchers, runs)
        replays = ReplayProcess(lambda: launchers.get(*_reference(request)), folder, {"task": "replay"})
        stack.callback(replays.end)
        return _compare(request, runs, Pardon(replays), progress)


def _end(runs: list[Run]) -> None:
    for run in runs:
        run.end()


def _start(request: Request, folder: str, launchers: Launchers, runs: list[Run]) -> None:
    """The reference, ours, and the perturbed runs."""
    common = {
        "task": "record",
        "args": list(request.args),
        "seed": request.seed,
        "most_elements": request.most_elements,
    }
    reference = {
        **common,
        "script": os.path.abspath(request.reference_script or request.script),
        "engine": request.reference_engine,
        "compile": None if request.compile is None else "",
    }
    ours = {
        **common,
        "script": os.path.abspath(request.script),
        "engine": request.engine,
        "device": request.device,
        "dtype": request.dtype,
        "compile": request.compile,
    }
    for script in (request.reference_script or request.script, request.script):
        if not os.path.isfile(script):
            raise ToolError(f"there is no script {script}")
    python, _ = _reference(request)
    wanted: list[tuple[str, str, dict[str, Any]]] = [
        ("reference", python, reference),
        ("ours", sys.executable, ours),
    ]
    wanted += [
        (f"perturbed-{i + 1}", python, {**reference, "noise": i + 1}) for i in range(request.spread_runs)
    ]
    if request.compile is not None and (request.device or request.engine != request.reference_engine):
        # Nothing inside of a graph can be repeated: what ours does eagerly is no fault of the graph.
        eager = {**ours, "script": reference["script"], "compile": ""}
        wanted.append(("eager", sys.executable, eager))
    started = [launchers.get(python, what["engine"]) for _, python, what in wanted]  # they load side by side
    for launcher, (name, _, what) in zip(started, wanted):
        runs.append(Run(name, launcher, what, folder))


def _reference(request: Request) -> tuple[str, str]:
    """Interpreter and engine of the reference."""
    ours = request.reference_engine == "ours"
    return sys.executable if ours else request.reference_python, request.reference_engine


def _compare(request: Request, runs: list[Run], pardon: Pardon, progress: Callable[..., None]) -> Outcome:
    walk = Walk(request.dtype is None, pardon)
    index = 0
    finding = None
    while finding is None:
        reference, ours, *spreads = (run.chunk(index) for run in runs)
        parting = walk.chunk(reference, ours, spreads)
        if parting is not None:
            culprit = find_culprit(walk, parting)
            finding = describe(walk, parting, culprit)
            finding.reproducer = write_reproducer(request.folder, walk, parting, culprit)
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
    if finding is None and request.compile is not None and ours.programs == 0:
        raise ToolError(f"nothing was compiled, so nothing was compared in graph mode:\n{output['ours']}")
    return Outcome(
        finding, walk.steps, walk.compared, output, pardon.count, amplified_at(pardon.first), ours.programs
    )


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
