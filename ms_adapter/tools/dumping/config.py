"""What is dumped: settings from a file, from one line of text, or from Python."""

from __future__ import annotations

import json
import os
import re
import tomllib
from dataclasses import dataclass, fields
from typing import Any

from ms_adapter.tools.frame import ToolError

_CHOICES = {
    "level": ("module", "operator"),
    "what": ("statistics", "tensor"),
    "watch": ("", "nan", "inf"),
}
_TENSORS = ("inputs", "outputs", "gradients")


@dataclass
class Settings:
    """All settings. `steps` are optimizer steps, counted from 0: "0-2,5" or "" for all."""

    path: str = "ms_adapter_dump"
    level: str = "module"
    what: str = "statistics"
    tensors: str = "outputs,gradients"  # of inputs, outputs, gradients
    names: str = ""  # a regular expression for "module/operator"
    steps: str = ""
    watch: str = ""  # stop at the first "nan", or at the first "inf" too
    lines: bool = False  # operators.jsonl: each operator with where its inputs come from
    graph: str = ""  # a JSON file: captured graphs of what the script calls
    background_mib: int = 256  # of tensors that may wait for the disk; 0: written at once
    name: str = "main"  # of the run, in the folders

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                words = ", ".join(word or "(nothing)" for word in choices)
                raise ToolError(f"{name} is {getattr(self, name)!r}: choose one of {words}")
        for word in self.kinds:
            if word not in _TENSORS:
                raise ToolError(f"tensors has {word!r}: choose among {', '.join(_TENSORS)}")
        if self.background_mib < 0:
            raise ToolError(f"background_mib is {self.background_mib}: it must not be negative")
        self.step_ranges()
        try:
            re.compile(self.names)
        except re.error as error:
            raise ToolError(f"names is {self.names!r}, which is no regular expression: {error}") from None

    @property
    def kinds(self) -> frozenset[str]:
        """Which tensors are dumped."""
        return frozenset(word.strip() for word in self.tensors.split(",") if word.strip())

    def step_ranges(self) -> list[tuple[int, int]]:
        """First and last step of each range; none: all steps."""
        found = []
        for part in filter(None, (part.strip() for part in self.steps.split(","))):
            first, dash, last = part.partition("-")
            try:
                found.append((int(first), int(last) if dash else int(first)))
            except ValueError:
                raise ToolError(f"steps has {part!r}: write numbers and ranges, such as 0-2,5") from None
        return found

    def wants_step(self, step: int) -> bool:
        """Whether that step is dumped."""
        ranges = self.step_ranges()
        return not ranges or any(first <= step <= last for first, last in ranges)


def read_settings(given: str | dict[str, Any] | Settings) -> Settings:
    """Settings from a TOML or JSON file, from `key=value,key=value`, or from a dictionary.

    Raises:
        ToolError: the file cannot be read, or a setting makes no sense.
    """
    if isinstance(given, Settings):
        return given
    if isinstance(given, dict):
        return _checked(given)
    if given.endswith((".toml", ".json")):
        return _checked(_read_file(given))
    if "=" not in given:
        return Settings(path=given)
    return _checked(_read_line(given))


def _read_file(path: str) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file) if path.endswith(".toml") else json.load(file)
    except (OSError, ValueError) as error:
        raise ToolError(f"{os.fspath(path)}: {error}") from error


def _read_line(line: str) -> dict[str, Any]:
    """`path=out,steps=0-2,5,level=module`: a comma belongs to the value unless `word=` follows it."""
    found: dict[str, Any] = {}
    key = ""
    for part in line.split(","):
        name, equals, value = part.partition("=")
        if equals and name.strip().isidentifier():
            key = name.strip()
            found[key] = value
        else:
            found[key] += "," + part
    return found


def _checked(given: dict[str, Any]) -> Settings:
    known = {item.name: item.default for item in fields(Settings)}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise ToolError(f"there is no setting {name!r}: {', '.join(known)} are known")
        kind: Any = type(known[name])
        if kind is bool and isinstance(value, str):
            value = value.lower() in ("1", "true", "yes")
        if kind is str and isinstance(value, list):
            value = ",".join(map(str, value))
        try:
            values[name] = kind(value)
        except ValueError:
            raise ToolError(f"{name} is {value!r}, which is no {kind.__name__}") from None
    return Settings(**values)
