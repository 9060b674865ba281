"""What the parameters of an operator are called, so that reports can name arguments given by position."""

from __future__ import annotations

import inspect
from typing import Any


class Signatures:
    """Looks each operator up once; PyTorch keeps the signatures of what is not Python in a table."""

    def __init__(self, torch: Any) -> None:
        self._table = getattr(torch.overrides, "get_testing_overrides", dict)
        self._known: dict[Any, list[tuple[str, str]]] = {}

    def of(self, func: Any) -> list[tuple[str, str]]:
        """(name, default as text or "") of each parameter; empty where it cannot be told."""
        if func not in self._known:
            self._known[func] = _parameters(func) or _parameters(self._table().get(func))
        return self._known[func]


def _parameters(func: Any) -> list[tuple[str, str]]:
    try:
        parameters = inspect.signature(func).parameters.values()
    except (TypeError, ValueError):  # no signature
        return []
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
        return []
    return [(p.name, "" if p.default is p.empty else repr(p.default)) for p in parameters]
