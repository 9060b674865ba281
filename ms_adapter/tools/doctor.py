"""`ms-adapter doctor`: what is here, whether it goes together, whether it computes; and what to do."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import ms_adapter
from ms_adapter.tools.frame import EXIT_DIFFERS, EXIT_SAME, Tool
from ms_adapter.tools.screen import Screen

EXAMPLES = """\
  ms-adapter doctor
  ms-adapter doctor --json     # exit code 1 if something is wrong"""

GOOD, NOTE, WRONG = "ok", "note", "wrong"
_MINDSPORE_PYTHON = (3, 12)  # the newest that MindSpore 2.10 has wheels for
_MINDSPORE_VERSION = "2.10"


class Check(NamedTuple):
    """One line of the report."""

    name: str
    status: str
    found: str
    advice: str = ""


def _version(distribution: str) -> str | None:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _python() -> Check:
    found = f"{platform.python_implementation()} {platform.python_version()} at {sys.executable}"
    if not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return Check("Python", WRONG, found, "use Python 3.11, 3.12 or 3.13")
    return Check("Python", GOOD, found)


def _package() -> Check:
    return Check("ms_adapter", GOOD, f"{ms_adapter.__version__} at {os.path.dirname(ms_adapter.__file__)}")


def _engine() -> Check:
    try:
        from ms_adapter import _C  # type: ignore[attr-defined]
    except ImportError as error:
        return Check(
            "engine", WRONG, str(error), "install the libraries of docs/dependencies.md, then rebuild"
        )
    return Check("engine", GOOD, os.path.basename(_C.__file__))


def _instruction_set() -> Check:
    import ms_adapter.pytorch as torch

    capability = torch.backends.cpu.get_cpu_capability()
    lowered = os.environ.get("MS_ADAPTER_ISA")
    if lowered:
        return Check(
            "instruction set", NOTE, f"{capability} (MS_ADAPTER_ISA={lowered})", "unset it for speed"
        )
    return Check("instruction set", GOOD, f"{capability} on {platform.machine()}")


def _threads() -> Check:
    import ms_adapter.pytorch as torch

    threads = torch.get_num_threads()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads > cores:
        advice = f"set OMP_NUM_THREADS={cores}, or call torch.set_num_threads({cores})"
        return Check("threads", NOTE, f"{threads} on {cores} processors", advice)
    return Check("threads", GOOD, f"{threads} on {cores} processors")


def _blas() -> Check:
    if importlib.util.find_spec("scipy_openblas32") is None:
        return Check("OpenBLAS", WRONG, "not installed", "pip install scipy-openblas32")
    return Check("OpenBLAS", GOOD, f"scipy-openblas32 {_version('scipy-openblas32')}")


def _numpy() -> Check:
    found = _version("numpy")
    if found is None:
        return Check("NumPy", WRONG, "not installed", "pip install 'numpy>=1.26'")
    if tuple(int(part) for part in found.split(".")[:2]) < (1, 26):
        return Check("NumPy", WRONG, found, "pip install -U 'numpy>=1.26'")
    if _version("mindspore") and found.startswith("2."):
        return Check(
            "NumPy", NOTE, found, "MindSpore 2.10 wants 'numpy<2': give it an environment of its own"
        )
    return Check("NumPy", GOOD, found)


def _mindspore() -> Check:
    found = _version("mindspore")
    if found is None:
        if sys.version_info[:2] > _MINDSPORE_PYTHON:
            advice = "only for the device 'mindspore'; it needs Python 3.12 or older"
        else:
            advice = f"only for the device 'mindspore': pip install 'mindspore=={_MINDSPORE_VERSION}.*'"
        return Check("MindSpore", NOTE, "not installed", advice)
    if not found.startswith(_MINDSPORE_VERSION):
        return Check("MindSpore", NOTE, found, f"tested with {_MINDSPORE_VERSION}")
    try:
        import mindspore

        target = mindspore.get_context("device_target")
    except Exception as error:  # its libraries may fail in any way
        return Check("MindSpore", WRONG, f"{found} does not load: {error}", "reinstall it for this Python")
    return Check("MindSpore", GOOD, f"{found}, target {target}")


def _pytorch() -> Check:
    found = _version("torch")
    if found is None:
        return Check("PyTorch", NOTE, "not installed", "only `ms-adapter verify` and the tests need it")
    return Check("PyTorch", GOOD, f"{found} (only `ms-adapter verify` and the tests use it)")


def _extras() -> Check:
    missing = [name for name in ("rich", "shtab") if _version(name) is None]
    if missing:
        return Check("tools", NOTE, f"{', '.join(missing)} not installed", "pip install 'ms_adapter[tools]'")
    return Check("tools", GOOD, "rich, shtab")


def _self_test() -> Check:
    """A small training, whose loss must fall, and a matrix product that NumPy has to agree with."""
    import numpy as np

    import ms_adapter.pytorch as torch

    started = time.perf_counter()
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(256, 64, generator=generator)
    product = (x @ x.t()).numpy()
    wanted = x.numpy().astype(np.float64) @ x.numpy().T.astype(np.float64)
    error = float(np.abs(product - wanted).max())
    weight = torch.zeros(64, 1, requires_grad=True)
    target = x[:, :1] * 2
    losses = []
    for _ in range(20):
        loss = ((x @ weight - target) ** 2).mean()
        (gradient,) = torch.autograd.grad(loss, weight)
        weight = (weight - 0.1 * gradient).detach().requires_grad_()
        losses.append(float(loss.detach()))
    seconds = time.perf_counter() - started
    found = (
        f"product within {error:.1e} of NumPy's, loss {losses[0]:.3f} to {losses[-1]:.3f}, {seconds:.2f} s"
    )
    if error > 1e-3 or not losses[-1] < 0.1 * losses[0]:
        return Check("self-test", WRONG, found, "try MS_ADAPTER_ISA=base; if that helps, report it")
    return Check("self-test", GOOD, found)


CHECKS: tuple[Callable[[], Check], ...] = (
    _python, _package, _engine, _instruction_set, _threads, _blas, _numpy, _mindspore, _pytorch, _extras,
    _self_test,
)  # fmt: skip


def examine() -> Iterator[Check]:
    """All checks; one that raises is itself a finding."""
    for check in CHECKS:
        try:
            yield check()
        except Exception as error:  # whatever is broken here is what the doctor is asked about
            name = check.__name__.strip("_").replace("_", " ")
            yield Check(
                name, WRONG, f"{type(error).__name__}: {error}", "see the lines above; rebuild or reinstall"
            )


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    pass


def _show_plainly(found: list[Check]) -> None:
    """Without rich: what is missing must be told by the tool that looks for it."""
    for check in found:
        print(f"{check.name}: {check.status}, {check.found}" + (f": {check.advice}" if check.advice else ""))


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    found = list(examine())
    screen.result["checks"] = [check._asdict() for check in found]
    wrong = [check for check in found if check.status == WRONG]
    if importlib.util.find_spec("rich") is None and not screen.as_json:
        _show_plainly(found)
        return EXIT_DIFFERS if wrong else EXIT_SAME
    screen.table("", ("", "status", "found", "what to do"), found)
    for check in wrong:
        screen.bad(f"{check.name}: {check.found}. {check.advice}")
    if not wrong:
        screen.good("all is well")
    return EXIT_DIFFERS if wrong else EXIT_SAME


TOOL = Tool("doctor", "check the installation and say what to do", EXAMPLES, _add_arguments, _run)
