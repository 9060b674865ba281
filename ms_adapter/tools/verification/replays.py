"""Programs of a few lines, run by the reference's framework: in a process of its own, or in this one."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .child.replay import replay
from .processes import Launcher, Run
from .programs import Program

NOISES = (0, 1, 2)  # as it is; and rounded otherwise, twice
Replayer = Callable[[Program], "list[np.ndarray] | None"]


class ReplayProcess:
    """Started when it is first needed. Called with a program: its result for each of NOISES, or None."""

    def __init__(self, launcher: Callable[[], Launcher], folder: str, request: dict[str, Any]) -> None:
        self._launcher, self._folder, self._request = launcher, folder, request
        self._run: Run | None = None
        self._index = 0

    def __call__(self, program: Program) -> list[np.ndarray] | None:
        if self._run is None:
            self._answers, theirs = os.pipe()
            try:
                self._run = Run("replay", self._launcher(), self._request, self._folder, [theirs])
            finally:
                os.close(theirs)
        base = os.path.join(self._run.folder, str(self._index))
        self._index += 1
        with open(base + ".json", "w", encoding="utf-8") as file:
            about = {"lines": program.lines, "compared": program.compared, "dtypes": program.dtypes}
            json.dump({**about, "noises": NOISES}, file)
        np.savez(base + ".npz", **program.arrays)  # type: ignore[arg-type]
        self._run.ask()
        if os.read(self._answers, 1) != b"+":
            return None
        with np.load(base + ".results.npz") as found:
            made = [found[f"r{noise}"] for noise in NOISES]
        for ending in (".json", ".npz", ".results.npz"):
            os.unlink(base + ending)
        return made

    def end(self) -> None:
        """Stop the process, if there is one."""
        if self._run is not None:
            self._run.end()
            os.close(self._answers)


def here(torch: Any) -> Replayer:
    """Runs programs in this process."""

    def run(program: Program) -> list[np.ndarray] | None:
        about = {"lines": program.lines, "compared": program.compared, "dtypes": program.dtypes}
        try:
            return [replay(torch, about, program.arrays, noise) for noise in NOISES]
        except Exception:  # whatever a call raises: it cannot be repeated
            return None

    return run
