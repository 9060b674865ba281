"""What all tests share: the oracle's presence is said aloud, and CI does without it only by failing."""

from __future__ import annotations

import importlib.util
import os

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None


def pytest_configure(config: pytest.Config) -> None:
    if not HAVE_TORCH and os.environ.get("CI", "").lower() == "true":
        raise pytest.UsageError(
            "PyTorch is not installed, but CI must compare with it: pip install --group test"
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not HAVE_TORCH:
        terminalreporter.write_sep(
            "=", "no PyTorch here: every test that compares with it was LEFT OUT", red=True, bold=True
        )
