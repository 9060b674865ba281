"""python bench/files.py [--gib 1] [--rounds 6] [KIND ...]: torch.save and torch.load against PyTorch's.

Each figure is from a process of its own, files in the page cache, the two frameworks in turns so that what
else the machine does meets both. "first" is what a script sees that saves or loads once: its memory must
come fresh from the system. "again" is the same a second time, when the allocators have memory at hand.
Ratios are ours / PyTorch's within a round: their median, lowest and highest. A save of ours includes the
fsync that makes the file safe before it takes the old one's place; PyTorch's has none.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FRAMEWORKS = {"ours": "ms_adapter.pytorch", "torch": "torch"}
TASKS = ("save", "load", "mmap")
GIB = 1 << 30
TIMES = ("first", "again")


def shapes(bytes_in_all: int) -> dict[str, tuple[int, int]]:
    """(number of tensors, bytes of each) by the name of a kind of checkpoint."""
    kinds = {
        "1 tensor": bytes_in_all,
        "64 MiB each": 64 << 20,
        "4 MiB each": 4 << 20,
        "64 KiB each": 64 << 10,
    }
    sizes = {
        name: (max(1, bytes_in_all // each), each) for name, each in kinds.items() if each <= bytes_in_all
    }
    return {**sizes, "16384 small": (16384, 256)}


def tasks(torch: Any, count: int, each: int, path: str) -> dict[str, Callable[[], Any]]:
    """What is timed, by name; the state_dict is made only for saving."""
    state: dict[str, Any] = {}

    def save() -> None:
        if not state:
            state.update({f"layer.{i}.weight": torch.full((each // 4,), 1.5) for i in range(count)})
            return
        torch.save(state, path)

    return {"save": save, "load": lambda: torch.load(path), "mmap": lambda: torch.load(path, mmap=True)}


def measure(framework: str, task: str, count: int, each: int, path: str) -> None:
    """Print the seconds of the first and of the second time, in a process that does nothing else."""
    torch = importlib.import_module(FRAMEWORKS[framework])
    run = tasks(torch, count, each, path)[task]
    if task == "save":
        run()  # makes the tensors
    seconds = []
    for _ in TIMES:
        os.sync()  # what earlier saves left for the disk must not weigh on this one
        start = time.perf_counter()
        result = run()
        seconds.append(time.perf_counter() - start)
        del result
    print(json.dumps(seconds))


def in_child(framework: str, task: str, count: int, each: int, path: str) -> list[float]:
    """`measure` in a process of its own."""
    arguments = [sys.executable, __file__, "--measure", framework, task, str(count), str(each), path]
    root = str(Path(__file__).resolve().parent.parent)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([root, os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run(arguments, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def compare(kind: str, count: int, each: int, rounds: int, folder: str) -> list[float]:
    """Print a kind's lines; the median ratios of saving and loading."""
    paths = {framework: os.path.join(folder, f"{framework}.pt") for framework in FRAMEWORKS}
    ratios = []
    for task in TASKS:
        runs: dict[str, list[list[float]]] = {framework: [] for framework in FRAMEWORKS}
        for turn in range(rounds):
            # Whoever comes second gets memory that the first has just warmed up: they take turns in that too.
            for framework in list(paths)[:: -1 if turn % 2 else 1]:
                runs[framework].append(in_child(framework, task, count, each, paths[framework]))
        for place, when in enumerate(TIMES):
            ours, theirs = ([run[place] for run in runs[name]] for name in FRAMEWORKS)
            pairs = sorted(a / b for a, b in zip(ours, theirs, strict=True))
            figures = "".join(f"{statistics.median(side) * 1e3:9.1f} ms" for side in (ours, theirs))
            span = f"{pairs[0]:.2f} to {pairs[-1]:.2f}"
            print(
                f"{kind:12} {task:5} {when:6} {figures} {statistics.median(pairs):6.2f}   {span}", flush=True
            )
            if task != "mmap":
                ratios.append(statistics.median(pairs))
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0, help="size of each checkpoint")
    parser.add_argument("kinds", nargs="*", help="beginnings of the names of kinds; default: all")
    parser.add_argument("--rounds", type=int, default=6, help="processes of each side for each figure")
    parser.add_argument("--dir", help="where the files go (default: the system's temporary folder)")
    parser.add_argument("--measure", nargs=5, metavar=("FRAMEWORK", "TASK", "COUNT", "BYTES", "PATH"))
    options = parser.parse_args()
    if options.measure:
        framework, task, count, each, path = options.measure
        measure(framework, task, int(count), int(each), path)
        return 0
    chosen = {
        kind: shape
        for kind, shape in shapes(int(options.gib * GIB)).items()
        if not options.kinds or kind.startswith(tuple(options.kinds))
    }
    if not chosen:
        sys.exit(f"no such kind; there are: {', '.join(shapes(int(options.gib * GIB)))}")
    heads = f"{'tensors':12} {'task':5} {'time':6} {'ours':>12}{'PyTorch':>12}  ratio"
    print(f"{heads}   lowest to highest of {options.rounds} rounds")
    ratios = []
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        for kind, (count, each) in chosen.items():
            ratios += compare(kind, count, each, options.rounds, folder)
    mean, highest = statistics.geometric_mean(ratios), max(ratios)
    print(f"saving and loading: geometric mean {mean:.2f}, highest {highest:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
