"""Starting several processes that run one function, and raising here what one of them raised."""

import logging
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
import weakref
from concurrent.futures import ThreadPoolExecutor

from ms_adapter import _C

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

ENV_VAR_PARALLEL_START = "TORCH_MP_PARALLEL_START"
_LAST_GRACE_S = 30  # for processes that should end after SIGTERM

log = logging.getLogger(__name__)


class ProcessException(Exception):
    """A started process failed: ``error_index`` is its number, ``error_pid`` its process id."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised in a process; the message has its traceback."""


class ProcessExitedException(ProcessException):
    """A process ended by a signal (``signal_name``) or left with ``exit_code``."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)


def _run(fn, i, args, error_file):
    """What a started process does."""
    _C.die_with_parent(signal.SIGINT)
    try:
        fn(i, *args)
    except KeyboardInterrupt:
        pass  # the parent has it too, or is gone
    except Exception:
        with open(error_file, "w") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


def _remove_files(files):
    for file in files:
        if os.path.exists(file):
            os.unlink(file)


class ProcessContext:
    """Processes that were started together; ``error_files`` is where each leaves its traceback."""

    def __init__(self, processes, error_files):
        self.processes = processes
        self.error_files = error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}
        weakref.finalize(self, _remove_files, tuple(error_files))

    def pids(self):
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Wait for the processes; returns whether all have ended.

        The first that fails ends the others, and is raised as ProcessRaisedException or
        ProcessExitedException.

        Args:
            timeout: how long to wait, in seconds.
            grace_period: how long the others may go on after a failure before they are terminated, and
                then before they are killed, in seconds.
        """
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(list(self.sentinels), timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                self._end_all(grace_period)
                raise self._failure(index)
        return not self.sentinels

    def _wait_for_all(self, seconds):
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _end_all(self, grace_s):
        if grace_s is not None:
            self._wait_for_all(grace_s)
        for process in self.processes:
            if process.is_alive():
                log.warning("Terminating process %s via signal SIGTERM", process.pid)
                process.terminate()
        self._wait_for_all(_LAST_GRACE_S if grace_s is None else grace_s)
        for process in self.processes:
            if process.is_alive():
                log.warning("Killing process %s, which did not end after SIGTERM", process.pid)
                process.kill()
            process.join()

    def _failure(self, index):
        pid, exit_code = self.processes[index].pid, self.processes[index].exitcode
        trace = self._trace(index)
        if trace:
            text = f"\n\n-- Process {index} terminated with the following error:\n{trace}"
            return ProcessRaisedException(text, index, pid)
        if exit_code >= 0:
            text = f"process {index} terminated with exit code {exit_code}"
            return ProcessExitedException(text, index, pid, exit_code)
        name = signal_name(-exit_code)
        return ProcessExitedException(
            f"process {index} terminated with signal {name}", index, pid, exit_code, name
        )

    def _trace(self, index):
        try:
            with open(self.error_files[index]) as file:
                return file.read()
        except FileNotFoundError:
            return ""


class SpawnContext(ProcessContext):
    """The older name of ProcessContext."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is now called ProcessContext.", stacklevel=2)
        super().__init__(processes, error_files)


def signal_name(number):
    """ "SIGKILL" for 9."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"<Unknown signal {number}>"


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Start ``nprocs`` processes that run ``fn(i, *args)``, ``i`` being a process's number.

    With ``join`` waits for all and raises as :meth:`ProcessContext.join` does; else returns the
    ProcessContext.

    >>> import os
    >>> start_processes(os.nice, nprocs=2, start_method="fork")
    """
    context = multiprocessing.get_context(start_method)

    def start(i):
        file, error_file = tempfile.mkstemp(prefix="ms_adapter-error-", suffix=".txt")
        os.close(file)
        process = context.Process(target=_run, args=(fn, i, args, error_file), daemon=daemon)
        process.start()
        return process, error_file

    in_parallel = start_method == "forkserver" and os.environ.get(ENV_VAR_PARALLEL_START, "0") == "1"
    if in_parallel:
        with ThreadPoolExecutor(max_workers=nprocs) as pool:
            started = list(pool.map(start, range(nprocs)))
    else:
        started = [start(i) for i in range(nprocs)]
    processes = ProcessContext([process for process, _ in started], [file for _, file in started])
    if not join:
        return processes
    while not processes.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """:func:`start_processes` by "spawn": ``fn`` must be found by importing its module."""
    if start_method != "spawn":
        warnings.warn(
            f"spawn: start_method={start_method!r} is ignored; start_processes takes it.",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
