"""python bench/files.py [--gib 1] [--repeats 4]: torch.save and torch.load against PyTorch's.

Ratios of seconds; each from a process of its own, the two frameworks in turns, files in the page cache:
"first" is what a script sees that saves or loads once, "again" the same a second time, when the allocators
have memory at hand. A save of ours includes the fsync that makes the file safe before it takes the old one's
place; PyTorch's has none.
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
    return {
        name: (max(1, bytes_in_all // each), each) for name, each in kinds.items() if each <= bytes_in_all
    }


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


def compare(kind: str, count: int, each: int, repeats: int, folder: str) -> list[float]:
    """Print a kind's lines; the ratios ours / PyTorch's of saving and loading."""
    paths = {framework: os.path.join(folder, f"{framework}.pt") for framework in FRAMEWORKS}
    ratios = []
    for task in TASKS:
        runs: dict[str, list[list[float]]] = {framework: [] for framework in FRAMEWORKS}
        for turn in range(repeats):
            # Whoever comes second gets memory that the first has just warmed up: they take turns in that too.
            for framework in list(paths)[:: -1 if turn % 2 else 1]:
                runs[framework].append(in_child(framework, task, count, each, paths[framework]))
        for place, when in enumerate(TIMES):
            ours, theirs = (statistics.median(r[place] for r in runs[name]) for name in FRAMEWORKS)
            figures = f"{ours * 1e3:9.1f} ms {theirs * 1e3:9.1f} ms {ours / theirs:6.2f}"
            print(f"{kind:12} {task:5} {when:6} {figures}", flush=True)
            if task != "mmap":
                ratios.append(ours / theirs)
    return ratios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gib", type=float, default=1.0, help="size of each checkpoint")
    parser.add_argument("--repeats", type=int, default=4, help="processes for each figure; the median counts")
    parser.add_argument("--dir", help="where the files go (default: the system's temporary folder)")
    parser.add_argument("--measure", nargs=5, metavar=("FRAMEWORK", "TASK", "COUNT", "BYTES", "PATH"))
    options = parser.parse_args()
    if options.measure:
        framework, task, count, each, path = options.measure
        measure(framework, task, int(count), int(each), path)
        return 0
    print(f"{'tensors':12} {'task':5} {'time':6} {'ours':>12} {'PyTorch':>12} ratio")
    ratios = []
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        for kind, (count, each) in shapes(int(options.gib * GIB)).items():
            ratios += compare(kind, count, each, options.repeats, folder)
    print(f"geometric mean of saving and loading: {statistics.geometric_mean(ratios):.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
