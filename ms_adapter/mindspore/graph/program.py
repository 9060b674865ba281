"""A captured graph as a MindSpore Cell that its graph mode compiles, called with our tensors."""

from __future__ import annotations

import importlib.util
import itertools
import os
import shutil
import sys
import tempfile
from typing import Any

from ms_adapter import _C
from ms_adapter.capture import Graph
from ms_adapter.capture.compiled import Uncompilable
from ms_adapter.capture.numbers import NotThisTime

from .. import backend
from .lower import Lowered

_numbers = itertools.count()
_folder: str | None = None  # of the sources: MindSpore's parser reads files


def _source_file(text: str) -> str:
    """Writes the source to a file of its own, which lives as long as the process."""
    global _folder
    if _folder is None:
        import atexit

        _folder = tempfile.mkdtemp(prefix="ms_adapter_graphs_")
        atexit.register(shutil.rmtree, _folder, ignore_errors=True)
    path = os.path.join(_folder, f"ms_adapter_captured_{next(_numbers)}.py")
    with open(path, "w") as file:
        file.write(text)
    return path


def _cell(source: str, constants: dict[str, Any]) -> Any:
    path = _source_file(source)
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where MindSpore's parser looks for names
    spec.loader.exec_module(module)
    cell = module.Captured()
    for name, tensor in constants.items():
        setattr(cell, name, tensor)
    return cell


class Program:
    """Takes a graph's inputs, writes what it writes, gives its outputs; compiled when it is made."""

    def __init__(self, graph: Graph) -> None:
        self.draws, self.graph = graph.split_draws()
        lowered = Lowered(self.graph)
        self.source = lowered.source("O1")
        self._cell = _cell(self.source, lowered.trace.constants)
        self._inputs, self._outputs = lowered.inputs, lowered.outputs
        self._given = {id: i for i, id in enumerate(self.graph.inputs)}
        self._handles: dict[int, tuple[int, Any]] = {}
        self._compile([lowered.symbols[id].tensor for id in lowered.inputs])

    def _compile(self, examples: list[Any]) -> None:
        """Runs the Cell once, which compiles it; it changes nothing."""
        os.environ.setdefault("MS_OM_PATH", str(_folder))  # where MindSpore writes what it could not compile
        try:
            self._cell.construct(*examples)
        except Exception as error:
            said = str(error).strip().partition("\n")[0]
            raise Uncompilable(f"MindSpore does not compile the graph: {said}") from error

    def __call__(self, inputs: list[Any]) -> list[Any]:
        torch = _torch()
        state = torch.get_rng_state() if self.draws.nodes else None
        given = [*self.draws.replay(), *inputs]
        try:
            made = self._run(given)
        except (RuntimeError, ValueError, NotThisTime) as error:  # the function itself will say it better
            if state is not None:
                torch.set_rng_state(state)
            raise NotThisTime(str(error)) from error
        for target, value in self.graph.writes:
            self._target(target, given).copy_(made[value])
        return [None if id is None else made[id] for id in self.graph.outputs]

    def _run(self, given: list[Any]) -> dict[int, Any]:
        """The values that leave the graph; nothing is written."""
        *found, held = self._cell.construct(*(self._handle(id, given) for id in self._inputs))
        if held is not None and not bool(held):
            raise NotThisTime("an index out of range, or infinities where MindSpore takes none")
        return {id: self._tensor(id, tensor) for id, tensor in zip(self._outputs, found, strict=True)}

    def _target(self, id: int, given: list[Any]) -> Any:
        return given[self._given[id]] if id in self._given else self.graph.values[id].tensor

    def _handle(self, id: int, given: list[Any]) -> Any:
        """MindSpore's tensor over the same memory; that of a captured tensor is kept."""
        if id in self._given:
            return _handle(given[self._given[id]])
        tensor = self.graph.values[id].tensor
        address = tensor.data_ptr()
        kept = self._handles.get(id)
        if kept is None or kept[0] != address or not tensor.is_contiguous():
            self._handles[id] = kept = (address, _handle(tensor))
        return kept[1]

    def _tensor(self, id: int, tensor: Any) -> Any:
        """Our tensor over MindSpore's result, on the device where the function would have it."""
        made = _C.adopt_tensor(_torch().device(backend.DEVICE), tensor)
        device = self.graph.values[id].device
        return made if device.type == backend.DEVICE else made.to(device)


def _handle(tensor: Any) -> Any:
    tensor = tensor.detach()
    if not tensor.is_contiguous():
        tensor = tensor.contiguous()
    return _C.package_tensor(tensor) if tensor.device.type == backend.DEVICE else backend.handle(tensor)


def _torch() -> Any:
    from ms_adapter import pytorch

    return pytorch
