"""MindSpore's ModelCheckpoint for our modules: `.ckpt` files during Model.train."""

from __future__ import annotations

import os
import time
from typing import Any

from .bridge import save_checkpoint
from .training import Callback, RunContext


class CheckpointConfig:
    """When ModelCheckpoint saves, in steps or else in seconds; and how many files it keeps (0: all)."""

    def __init__(
        self, save_checkpoint_steps: int = 1, save_checkpoint_seconds: int = 0, keep_checkpoint_max: int = 5
    ) -> None:
        self.save_checkpoint_steps = save_checkpoint_steps
        self.save_checkpoint_seconds = save_checkpoint_seconds
        self.keep_checkpoint_max = keep_checkpoint_max


class ModelCheckpoint(Callback):
    """Saves the network as `directory/prefix-epoch_step.ckpt` during training and at its end."""

    def __init__(self, prefix: str = "CKP", directory: str | None = None, config: Any = None) -> None:
        self._prefix, self._directory = prefix, directory or os.getcwd()
        self._config = config or CheckpointConfig()
        self._files: list[str] = []
        self._saved_at_step, self._saved_at_s = 0, time.monotonic()

    @property
    def latest_ckpt_file_name(self) -> str:
        """The file that was written last; "" before."""
        return self._files[-1] if self._files else ""

    def step_end(self, run_context: RunContext) -> None:
        if self._is_due(run_context.original_args().cur_step_num):
            self._save(run_context.original_args())

    def end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num != self._saved_at_step:
            self._save(run_context.original_args())

    def _is_due(self, step: int) -> bool:
        if self._config.save_checkpoint_steps:
            return step >= self._saved_at_step + self._config.save_checkpoint_steps
        wait_s = self._config.save_checkpoint_seconds
        return bool(wait_s) and time.monotonic() - self._saved_at_s > wait_s

    def _save(self, run: Any) -> None:
        os.makedirs(self._directory, exist_ok=True)
        step = (run.cur_step_num - 1) % run.batch_num + 1
        file = os.path.join(self._directory, f"{self._prefix}-{run.cur_epoch_num}_{step}.ckpt")
        save_checkpoint(run.network, file)
        self._saved_at_step, self._saved_at_s = run.cur_step_num, time.monotonic()
        self._files.append(file)
        if self._config.keep_checkpoint_max and len(self._files) > self._config.keep_checkpoint_max:
            os.remove(self._files.pop(0))


def for_our_module(callback: Any) -> Any:
    """MindSpore's ModelCheckpoint, which saves graphs of cells, as ours; other callbacks as they are."""
    home = type(callback).__module__
    if type(callback).__name__ != "ModelCheckpoint" or not home.startswith("mindspore."):
        return callback
    return ModelCheckpoint(callback._prefix, callback._directory, callback._config)
