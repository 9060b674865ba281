"""Which Python code ran while a function was recorded: what it names is what the function could see."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from .graphs import package_folder

OPAQUE = frozenset({"numpy", "scipy", "mindspore", "google"})  # libraries whose state is their own
# Code that names one of these may look at any attribute.
ANY_NAME = frozenset({"getattr", "vars", "__dict__", "__getattribute__", "attrgetter", "eval", "exec"})


class Ran:
    """A context in which the code that runs, ours apart, is noted: its names, and its globals by them."""

    def __init__(self) -> None:
        self.codes: dict[int, CodeType] = {}
        self.names: set[str] = {"forward"}  # of attributes that may have been looked at
        self.user_names: set[str] = set()
        self.any_name = False  # attributes may be read whose names are computed
        self.globals: dict[int, tuple[dict[str, Any], set[str]]] = {}
        self._known: dict[int, CodeType] = {}  # all kinds; what is kept cannot lend its id to another
        self._before: Any = None

    def __enter__(self) -> Ran:
        self._before = sys.getprofile()
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: Any) -> None:
        sys.setprofile(self._before)

    def join(self, other: Ran) -> None:
        """Adds what ran in another recording."""
        self.codes.update(other.codes)
        self.names |= other.names
        self.user_names |= other.user_names
        self.any_name |= other.any_name
        for key, (space, names) in other.globals.items():
            self.globals.setdefault(key, (space, set()))[1].update(names)

    def _called(self, frame: FrameType, event: str, _arg: Any) -> None:
        code = frame.f_code
        if event != "call" or id(code) in self._known:
            return
        self._known[id(code)] = code
        kind = _kind(code.co_filename)
        if kind == "ours":
            return
        self.names.update(code.co_names)
        self.names.update(c for c in code.co_consts if type(c) is str and c.isidentifier())
        caller = frame.f_back
        if kind == "user" or (caller is not None and _kind(caller.f_code.co_filename) == "user"):
            self.any_name |= not ANY_NAME.isdisjoint(code.co_names)
        if kind == "user":
            self.codes[id(code)] = code
            self.user_names.update(code.co_names)
            space = frame.f_globals
            named = {name for name in code.co_names if name in space}
            self.globals.setdefault(id(space), (space, set()))[1].update(named)


_kinds: dict[str, str] = {}


def _kind(filename: str) -> str:
    """ "user", "library" (Python's own: its names count, its globals do not) or "ours"."""
    if filename not in _kinds:
        _kinds[filename] = _kind_of(filename)
    return _kinds[filename]


def _kind_of(filename: str) -> str:
    if filename.startswith(package_folder()):
        return "ours"
    parts = Path(filename).parts
    if "site-packages" in parts:
        return "ours" if OPAQUE.intersection(parts) else "user"
    return "library" if filename.startswith((sysconfig.get_path("stdlib"), "<frozen")) else "user"
