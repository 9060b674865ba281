"""Captured graphs of the modules that a script calls, in one JSON file by their paths."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any


class GraphFile:
    """Captures the first call of each module; the file is whole after each."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._graphs: dict[str, Any] = {}

    def call(self, path: str, call: Callable[..., Any], module: Any, args: tuple, kwargs: dict) -> Any:
        """What the call gives, which runs once whether it is captured or not."""
        if path in self._graphs:
            return call(module, *args, **kwargs)
        from ms_adapter.capture.recording import record

        made = record(lambda *args, **kwargs: call(module, *args, **kwargs), args, kwargs)
        graph = made.graph
        self._graphs[path] = {"refused": made.reason} if graph is None else json.loads(graph.to_json())
        self._write()
        return made.result

    def _write(self) -> None:
        with open(self._path + ".part", "w", encoding="utf-8") as file:
            json.dump(self._graphs, file, indent=1)
        os.replace(self._path + ".part", self._path)
