"""python scripts/kill_saves.py [--count 100]: a process killed at any moment of torch.save loses no file.

A child saves version after version of one state_dict over the same path, in turn in the zip format and the
old one; it is killed at a random moment, and the file must then be a whole version, not older than the last
one that the child had finished, with nothing left beside it.
"""

from __future__ import annotations

import argparse
import importlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TENSORS, ELEMENTS = 8, 1 << 18  # 1 MiB each
LONGEST_RUN = 0.5  # seconds from a child's first finished save to its end


def save_for_ever(path: str, version: int) -> None:
    """Save versions from `version` on, and print each that is finished."""
    torch = importlib.import_module("ms_adapter.pytorch")

    while True:
        state = {"version": version, **{str(i): torch.full((ELEMENTS,), version) for i in range(TENSORS)}}
        torch.save(state, path, _use_new_zipfile_serialization=version % 2 == 0)
        print(version, flush=True)
        version += 1


def loaded_version(path: str) -> int:
    """The version that the file holds; raises where it is not one and whole."""
    torch = importlib.import_module("ms_adapter.pytorch")

    state = torch.load(path)
    version = state.pop("version")
    for name, tensor in state.items():
        if tensor.numel() != ELEMENTS or not bool((tensor == version).all()):
            raise RuntimeError(f"tensor {name} is not of version {version}")
    if len(state) != TENSORS:
        raise RuntimeError(f"{len(state)} tensors of {TENSORS}")
    return version


def kill_once(path: str, version: int, wait: float) -> tuple[int, list[str]]:
    """(the version in the file, what is wrong) after a child that starts at `version` was killed."""
    arguments = [sys.executable, __file__, "--child", path, str(version)]
    child = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    first = child.stdout.readline()
    time.sleep(wait)
    child.send_signal(signal.SIGKILL)
    rest = child.stdout.read()
    child.wait()
    finished = [int(word) for word in (first + rest).split()]
    if not finished:
        return version, ["the child saved nothing"]
    try:
        found = loaded_version(path)
    except Exception as err:
        return finished[-1] + 1, [f"after version {finished[-1]}: {type(err).__name__}: {err}"]
    faults = []
    if found not in (finished[-1], finished[-1] + 1):
        faults.append(f"version {found} in the file, {finished[-1]} was finished")
    left = sorted(set(os.listdir(os.path.dirname(path))) - {os.path.basename(path)})
    return found + 1, faults + [f"left behind: {name}" for name in left]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dir", help="where the file goes (default: the system's temporary folder)")
    parser.add_argument("--child", nargs=2, metavar=("PATH", "VERSION"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    if options.child:
        save_for_ever(options.child[0], int(options.child[1]))
    rng, version, faults = random.Random(options.seed), 0, []
    with tempfile.TemporaryDirectory(dir=options.dir) as folder:
        for _ in range(options.count):
            version, found = kill_once(os.path.join(folder, "x.pt"), version, rng.uniform(0, LONGEST_RUN))
            faults += found
    print(*faults, sep="\n", end="\n" if faults else "")
    print(f"{options.count} kills among {version} saves: {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
