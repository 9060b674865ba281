"""Runs pytest on a library's own tests: `own_tests_child ours|torch RECORD PYTEST-ARGUMENTS`.

Each outcome is a line of JSON in RECORD as soon as it is known, so that a crash costs one test; tests that
have a line there already are left out, which is how a run goes on after one.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from ecosystem.child import prepare

SECONDS_EACH = int(os.environ.get("OWN_TESTS_SECONDS_EACH", "60"))
EVERY = int(os.environ.get("OWN_TESTS_EVERY", "1"))
PART = int(os.environ.get("OWN_TESTS_PART", "0"))
WAITS = 20  # a test that waits instead of computing ends after so many times its limit, with the process
WORST_FIRST = ("failed", "skipped", "passed")


def known(record: Path) -> dict[str, dict[str, Any]]:
    """What a record says about each test: the last line wins."""
    lines = record.read_text().splitlines() if record.exists() else []
    return {found["test"]: found for found in map(json.loads, lines)}


class TooLong(BaseException):
    """A test took more of the processor than it may; no `except Exception` in a test swallows it."""


def _stop(signum: int, frame: object) -> None:
    raise TooLong(f"longer than {SECONDS_EACH} s of processor time")


class Recorder:
    """The plugin: which tests run, for how long, and what came of each."""

    def __init__(self, record: Path) -> None:
        self.known = known(record)
        self.file = record.open("a")
        self.phases: dict[str, str] = {}
        self.why = ""

    def _write(self, test: str, outcome: str, why: str = "") -> None:
        self.file.write(json.dumps({"test": test, "outcome": outcome, "why": why[-300:]}) + "\n")
        self.file.flush()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [
            item
            for item in items
            if item.nodeid not in self.known and zlib.crc32(item.nodeid.encode()) % EVERY == PART % EVERY
        ]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self._write(report.nodeid, "not collected", str(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, bool, bool]:
        self._write(item.nodeid, "crashed")  # stands where the process ends before the test does
        self.phases, self.why = {}, ""
        signal.setitimer(signal.ITIMER_PROF, SECONDS_EACH)  # of the processor: others may use it, too
        faulthandler.dump_traceback_later(WAITS * SECONDS_EACH, exit=True)
        try:
            return (yield)
        except TooLong as error:  # between two phases of the test
            self.phases["call"], self.why = "failed", str(error)
            return True
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            faulthandler.cancel_dump_traceback_later()
            worst = next((o for o in WORST_FIRST if o in self.phases.values()), "failed")
            self._write(item.nodeid, worst, self.why)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.phases[report.when or ""] = report.outcome
        if report.failed:
            self.why = str(report.longrepr)


def main(side: str, record: str, *arguments: str) -> int:
    """Run pytest; the exit code says only whether it came to its end."""
    prepare(side)
    signal.signal(signal.SIGPROF, _stop)
    code = pytest.main(list(arguments), plugins=[Recorder(Path(record))])
    return int(
        code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
    )


if __name__ == "__main__":
    sys.stdout.flush()
    sys.exit(main(*sys.argv[1:]))
