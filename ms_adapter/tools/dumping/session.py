"""`dump(...)`: feeds the core's recorder with modules, gradients and steps while it is entered."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any

from ms_adapter import _C  # type: ignore[attr-defined]
from ms_adapter.tools.verification.child.names import ModuleNames
from ms_adapter.tools.verification.child.render import tensors_in

from .config import Settings, read_settings
from .graphs import GraphFile

_WATCH = {"": 0, "nan": 1, "inf": 2}


def dump(settings: str | dict[str, Any] | Settings | None = None, **named: Any) -> Dump:
    """A context in which what this thread computes is dumped.

    Args:
        settings: a TOML or JSON file, one line ``path=out,level=operator``, a dictionary, or none.
        named: the settings by name: ``path``, ``level``, ``what``, ``tensors``, ``names``, ``steps``,
            ``watch``, ``lines``, ``graph``, ``background_mib``, ``name`` (docs/dump.md).

    Raises:
        ToolError: a setting makes no sense.
        RuntimeError: later, from the operator that makes the first NaN, where ``watch`` asks for it.

    >>> import tempfile, os, ms_adapter.pytorch as torch
    >>> from ms_adapter.tools import dump
    >>> folder = tempfile.mkdtemp()
    >>> with dump(path=folder):
    ...     _ = torch.nn.Linear(2, 3)(torch.ones(1, 2))
    >>> os.listdir(os.path.join(folder, "rank_0", "main", "0", "0"))
    ['statistic.csv']
    """
    return Dump(read_settings(settings if settings is not None else named))


class Dump:
    """See :func:`dump`. ``step()`` begins the next step by hand, where no optimizer does."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._names = ModuleNames()
        self._depth = 0
        self._step = 0
        self._on = False
        self._graphs = GraphFile(settings.graph) if settings.graph else None
        self._undo: list[Callable[[], None]] = []

    def __enter__(self) -> Dump:
        settings, kinds = self.settings, self.settings.kinds
        by_operator = settings.level == "operator"
        self._remove_earlier()
        _C.dump.start(
            by_operator,
            settings.what == "tensor",
            "inputs" in kinds,
            "outputs" in kinds,
            settings.lines,
            _WATCH[settings.watch],
            settings.names,
            settings.background_mib << 20,
        )
        self._undo.append(_C.dump.stop)
        self._begin_step(0)
        self._watch_modules()
        self._watch_optimizers()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._undo:
            self._undo.pop()()

    def _remove_earlier(self) -> None:
        """What an earlier dump left: mixed with it, nobody could tell which rows are of this run."""
        for folder in glob.glob(os.path.join(glob.escape(self._folder()), "[0-9]*")):
            for pattern in ("statistic.csv", "operators.jsonl", "*.DefaultFormat.npy"):
                for path in glob.glob(os.path.join(glob.escape(folder), pattern)):
                    os.remove(path)
            with contextlib.suppress(OSError):  # something else lies there
                os.rmdir(folder)

    def _folder(self) -> str:
        rank = os.environ.get("RANK", "0")
        return os.path.join(self.settings.path, f"rank_{rank}", self.settings.name, "0")

    def step(self) -> None:
        """Begin the next step."""
        self._begin_step(self._step + 1)

    def _begin_step(self, step: int) -> None:
        self._step, self._on = step, self.settings.wants_step(step)
        folder = ""
        if self._on:
            folder = os.path.join(self._folder(), str(step))
            os.makedirs(folder, exist_ok=True)
        _C.dump.set_folder(folder)

    # --- modules

    def _watch_modules(self) -> None:
        import ms_adapter.pytorch as torch

        module = torch.nn.Module
        had_own = "__call__" in vars(module)
        original = module.__call__
        run = self._run_module

        def watched(self: Any, *args: Any, **kwargs: Any) -> Any:
            return run(self, original, args, kwargs)

        module.__call__ = watched  # type: ignore[method-assign]

        def undo() -> None:
            if had_own:
                module.__call__ = original  # type: ignore[method-assign]
            else:
                del module.__call__

        self._undo.append(undo)
        self._is_tensor = lambda value: isinstance(value, torch.Tensor)

    def _run_module(self, module: Any, call: Any, args: tuple, kwargs: dict) -> Any:
        if self._depth == 0 or self._names.path_of(module) is None:
            self._names.name_all(module)
        path = self._names.path_of(module) or type(module).__name__
        by_module = self._on and self.settings.level == "module" and self._wanted(path)
        if by_module and "inputs" in self.settings.kinds:
            self._write(module, path, "input", (args, kwargs))
        before = _C.dump.set_module(path)
        self._depth += 1
        try:
            if self._graphs is not None and self._depth == 1:
                result = self._graphs.call(path, call, module, args, kwargs)
            else:
                result = call(module, *args, **kwargs)
        finally:
            self._depth -= 1
            _C.dump.set_module(before)
        if by_module:
            if "outputs" in self.settings.kinds:
                self._write(module, path, "output", result)
            if "gradients" in self.settings.kinds:
                self._follow_gradients(module, path, result)
        return result

    def _wanted(self, path: str) -> bool:
        import re

        return not self.settings.names or re.search(self.settings.names, path + "/") is not None

    def _write(self, module: Any, path: str, side: str, values: Any) -> None:
        for slot, tensor in enumerate(tensors_in(values, self._is_tensor)):
            _C.dump.tensor(type(module).__name__, path, side, slot, tensor)

    def _follow_gradients(self, module: Any, path: str, result: Any) -> None:
        for slot, tensor in enumerate(tensors_in(result, self._is_tensor)):
            if tensor.requires_grad and not tensor.is_leaf:
                tensor.register_hook(self._gradient_writer(type(module).__name__, path, slot))

    @staticmethod
    def _gradient_writer(kind: str, path: str, slot: int) -> Callable[[Any], None]:
        def write(gradient: Any) -> None:
            _C.dump.tensor(kind, path, "grad", slot, gradient)

        return write

    # --- steps

    def _watch_optimizers(self) -> None:
        from ms_adapter.pytorch.optim.optimizer import (
            register_optimizer_step_post_hook,
            register_optimizer_step_pre_hook,
        )

        for handle in (
            register_optimizer_step_pre_hook(self._before_step),
            register_optimizer_step_post_hook(self._after_step),
        ):
            self._undo.append(handle.remove)

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._on or "gradients" not in self.settings.kinds:
            return
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                name = self._names.names.get(id(parameter))
                if name and parameter.grad is not None and self._wanted(name):
                    _C.dump.tensor("Parameter", name, "grad", 0, parameter.grad)

    def _after_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if self._on and self.settings.watch:
            self._watch_step(optimizer)
        self.step()

    def _watch_step(self, optimizer: Any) -> None:
        """A step is one kernel for the core: what it makes of the parameters is looked at here."""
        for i, group in enumerate(optimizer.param_groups):
            for j, parameter in enumerate(group["params"]):
                found = _C.dump.statistics(parameter)
                nans, infinities = found["nan"], found["negative_inf"] + found["positive_inf"]
                if not nans and not (infinities and self.settings.watch == "inf"):
                    continue
                name = self._names.names.get(id(parameter), f"group {i}, parameter {j}")
                raise RuntimeError(
                    f"dump: the first {'NaN' if nans else 'infinity'} comes from the step of "
                    f"{type(optimizer).__name__} in {name}: {nans} NaN and {infinities} infinities of "
                    f"{parameter.numel()} elements. {_figures('Its gradient', parameter.grad)}"
                )


def _figures(title: str, tensor: Any) -> str:
    if tensor is None:
        return f"{title}: none."
    found = _C.dump.statistics(tensor)
    infinities = found["negative_inf"] + found["positive_inf"]
    ends = f"min {found['minimum']:.9g}, max {found['maximum']:.9g}"
    return f"{title}: {ends}, NaN {found['nan']}, inf {infinities}"
