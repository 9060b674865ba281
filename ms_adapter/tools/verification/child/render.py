"""The text of a call: what a reproducer runs and what reports show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

_LONGEST = 200


def tensors_in(value: Any, is_tensor: Callable[[Any], bool], depth: int = 0) -> Iterator[Any]:
    """All tensors in nested arguments or results."""
    if is_tensor(value):
        yield value
    elif isinstance(value, (list, tuple)) and depth < 4:
        for item in value:
            yield from tensors_in(item, is_tensor, depth + 1)
    elif isinstance(value, dict) and depth < 4:
        for item in value.values():
            yield from tensors_in(item, is_tensor, depth + 1)


class CallText:
    """Writes arguments as Python; tensors are `t[0]`, `t[1]`, ... in their order."""

    def __init__(self, is_tensor: Callable[[Any], bool]) -> None:
        self._is_tensor = is_tensor
        self._count = 0

    def value(self, value: Any) -> str:
        """One argument."""
        if self._is_tensor(value):
            self._count += 1
            return f"t[{self._count - 1}]"
        if isinstance(value, tuple):
            inside = ", ".join(self.value(item) for item in value)
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, list):
            return "[" + ", ".join(self.value(item) for item in value) + "]"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key!r}: {self.value(item)}" for key, item in value.items()) + "}"
        if type(value).__name__ == "device":
            return f"torch.device({str(value)!r})"
        return repr(value)[:_LONGEST]


def arguments(args: tuple, kwargs: dict, is_tensor: Callable[[Any], bool]) -> list[tuple[str, str]]:
    """(name or "", text) of each argument."""
    text = CallText(is_tensor)
    return [("", text.value(item)) for item in args] + [(k, text.value(item)) for k, item in kwargs.items()]
