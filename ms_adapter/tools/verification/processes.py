"""The recorded processes: one interpreter loads the framework, and is forked for each run of it."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from typing import Any

from ms_adapter.tools.frame import ToolError

from .chunks import Chunk, read_chunk, remove_chunk

_CHILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "child")
_PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
_POLL_S = 0.005
_ENDING_S = 2.0
_LONGEST_MESSAGE = 1 << 16


class Launcher:
    """An interpreter that has loaded PyTorch or us, and starts runs.

    PyTorch takes seconds to load, so its runs are forks of one process. Ours would compute on one thread in a
    fork: each run of it has a process of its own.
    """

    def __init__(self, python: str, engine: str) -> None:
        self.python, self.engine = python, engine
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            **os.environ,
            "PYTHONHASHSEED": "0",
            "PYTHONUNBUFFERED": "1",
            # Runs wait for each other: threads that spin meanwhile would take the processors from them.
            "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive"),
        }
        command = [python, os.path.join(_CHILD, "__main__.py"), str(theirs.fileno()), engine, _PACKAGE_ROOT]
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[theirs.fileno()],
                env=environment,
            )
        except OSError as error:
            raise ToolError(f"the interpreter {python} cannot be started: {error}") from error
        finally:
            theirs.close()

    def start(self, request: dict[str, Any], fds: list[int]) -> int:
        """Start a run; the id of its process.

        Raises:
            ToolError: the framework cannot be loaded.
        """
        message = json.dumps({**request, "fork": self.engine == "pytorch"}).encode()
        if len(message) > _LONGEST_MESSAGE:
            raise ToolError(f"the script's arguments are too long: {len(message)} bytes")
        try:
            socket.send_fds(self._control, [message], fds)
            answer = self._control.recv(64)
        except OSError:
            answer = b""
        if not answer:
            assert self._process.stdout is not None
            text = self._process.stdout.read().decode("utf-8", "replace")
            last = "\n".join(text.strip().splitlines()[-8:])
            what = "PyTorch" if self.engine == "pytorch" else "ms_adapter"
            way_out = ""
            if "No module named 'torch'" in last:
                way_out = "\nName an interpreter that has PyTorch: --reference-python"
            raise ToolError(f"{self.python} cannot load {what}:\n{last}{way_out}")
        return int(answer)

    def close(self) -> None:
        """End the process; its forks go on."""
        self._control.close()
        if self._process.stdout is not None:
            self._process.stdout.close()
        try:
            self._process.wait(_ENDING_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Launchers:
    """Those in use: one of PyTorch for each interpreter, for as long as this is entered."""

    def __init__(self) -> None:
        self._shared: dict[str, Launcher] = {}
        self._own: list[Launcher] = []

    def __enter__(self) -> Launchers:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close_used()
        for launcher in self._shared.values():
            launcher.close()
        self._shared.clear()

    def close_used(self) -> None:
        """Close those that serve one run only; it must have ended."""
        for launcher in self._own:
            launcher.close()
        self._own.clear()

    def get(self, python: str, engine: str) -> Launcher:
        """One that can start a run."""
        if engine == "pytorch":
            if python not in self._shared:
                self._shared[python] = Launcher(python, engine)
            return self._shared[python]
        self._own.append(Launcher(python, engine))
        return self._own[-1]


class Run:
    """One recorded process."""

    def __init__(
        self, name: str, launcher: Launcher, request: dict[str, Any], folder: str, fds: Sequence[int] = ()
    ) -> None:
        self.name = name
        self.folder = os.path.join(folder, name)
        os.makedirs(self.folder)
        read_end, self._go = os.pipe()
        self._output = os.path.join(self.folder, "output")
        output = os.open(self._output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            self._id = launcher.start({**request, "folder": self.folder}, [read_end, output, *fds])
        except BaseException:
            os.close(self._go)
            raise
        finally:
            os.close(read_end)
            os.close(output)
        try:
            self._handle: int | None = os.pidfd_open(self._id)
        except ProcessLookupError:  # ended already
            self._handle = None

    def output(self) -> str:
        """What the process has printed."""
        with open(self._output, "rb") as file:
            return file.read().decode("utf-8", "replace")

    def chunk(self, index: int) -> Chunk:
        """The chunk of that index, once it is there."""
        while True:
            ended = self._ended(0)
            found = read_chunk(self.folder, index)
            if found is not None:
                return found
            if ended:
                last = "\n".join(self.output().strip().splitlines()[-8:])
                raise ToolError(f"the run '{self.name}' ended without its record:\n{last}")
            time.sleep(_POLL_S)

    def _ended(self, timeout_s: float) -> bool:
        if self._handle is None:
            return True
        poll = select.poll()
        poll.register(self._handle, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))

    def go_on(self, index: int) -> None:
        """Let it run the next step; forget the one that was compared."""
        remove_chunk(self.folder, index)
        self.ask()

    def ask(self) -> None:
        """Wake it."""
        try:
            os.write(self._go, b".")
        except BrokenPipeError:
            pass

    def end(self) -> None:
        """Stop the process if it still runs."""
        os.close(self._go)
        if self._handle is None:
            return
        if not self._ended(_ENDING_S):
            signal.pidfd_send_signal(self._handle, signal.SIGKILL)
            self._ended(_ENDING_S)
        os.close(self._handle)
