"""Which line of the user's code is running."""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from types import FrameType
from typing import Any

Site = tuple[str, int, str]  # file, line, function

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STDLIB = sysconfig.get_paths()["stdlib"] + os.sep
_SITE_PACKAGES = f"{os.sep}site-packages{os.sep}"


class Sites:
    """Finds the innermost frame that is neither the framework's, Python's, nor ours."""

    def __init__(self, framework: str) -> None:
        self._framework = os.path.dirname(os.path.abspath(framework)) + os.sep
        self._foreign: dict[str, bool] = {}

    def here(self, depth: int = 1) -> Site | None:
        """The user's line that led to the caller."""
        frame: FrameType | None = sys._getframe(depth + 1)
        while frame is not None and self._is_foreign(frame.f_code.co_filename):
            frame = frame.f_back
        return _site(frame)

    def making(self, made: Any, depth: int = 1) -> Site | None:
        """The user's line that made an object, from inside its __init__: not the lines of its own class."""
        frame: FrameType | None = sys._getframe(depth + 1)
        while frame is not None and (
            self._is_foreign(frame.f_code.co_filename)
            or (frame.f_code.co_name == "__init__" and next(iter(frame.f_locals.values()), None) is made)
        ):
            frame = frame.f_back
        return _site(frame)

    def of_function(self, function: Any) -> Site | None:
        """Where a function of the user's begins."""
        code = getattr(function, "__code__", None)
        if code is None or self._is_foreign(code.co_filename):
            return None
        line = code.co_firstlineno  # of its decorators, if it has some
        while linecache.getline(code.co_filename, line).lstrip().startswith("@"):
            line += 1
        return code.co_filename, line, code.co_name

    def of_error(self, error: BaseException) -> Site | None:
        """The user's innermost line of a traceback."""
        found = None
        trace = error.__traceback__
        while trace is not None:
            if not self._is_foreign(trace.tb_frame.f_code.co_filename):
                found = (trace.tb_frame.f_code.co_filename, trace.tb_lineno, trace.tb_frame.f_code.co_name)
            trace = trace.tb_next
        return found

    def _is_foreign(self, file: str) -> bool:
        known = self._foreign.get(file)
        if known is None:
            library = file.startswith(_STDLIB) and _SITE_PACKAGES not in file
            known = file.startswith((self._framework, _OWN, "<")) or library
            self._foreign[file] = known
        return known


def _site(frame: FrameType | None) -> Site | None:
    if frame is None:
        return None
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
