"""open_report.py REPORT.html [--screenshot FILE.png]: a scan's page in headless Chromium.

Prints what the browser complained about (errors on its console, exceptions) and every address that the page
asked for beside its own; exit code 1 where there is any. Chromium is driven over its debugging pipe: nothing
else is needed.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    *("--headless=new", "--remote-debugging-pipe", "--no-first-run"),
    *("--disable-gpu", "--hide-scrollbars", "--window-size=1200,950"),
)


def browser() -> str | None:
    """The program, where one is installed."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


@dataclass
class Visit:
    """What the browser told of one page."""

    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    answers: list[Any] = field(default_factory=list)  # of the expressions that were evaluated in it

    def note(self, message: dict[str, Any], page: str) -> None:
        """Take down an event."""
        method, params = message["method"], message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(params["exceptionDetails"]["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(str([a.get("value") for a in params["args"]]))
        elif method == "Network.requestWillBeSent" and params["request"]["url"] != page:
            self.requests.append(params["request"]["url"])


class Pipe:
    """Chromium's debugging protocol: JSON with a zero byte after it, on file descriptors 3 and 4 of its."""

    def __init__(self, program: str, profile: str) -> None:
        its_in, self.out = os.pipe()
        self.back, its_out = os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (its_in, its_out)]  # clear of where they go
        os.close(its_in)
        os.close(its_out)
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        line = [program, *OPTIONS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
        quiet = [(os.POSIX_SPAWN_OPEN, end, os.devnull, os.O_RDWR, 0) for end in (0, 1, 2)]
        moved = [(os.POSIX_SPAWN_DUP2, end, to) for end, to in zip(ends, (3, 4))]
        self.process = os.posix_spawn(program, line, os.environ, file_actions=[*quiet, *moved])
        for end in ends:
            os.close(end)
        self.buffer = b""
        self.sent = 0
        self.events: list[dict[str, Any]] = []

    def read(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            piece = os.read(self.back, 1 << 16)
            if not piece:
                raise RuntimeError("Chromium has ended")
            self.buffer += piece
        text, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(text)

    def ask(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come before it are kept."""
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        os.write(self.out, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def wait_for(self, method: str) -> None:
        while not any(event["method"] == method for event in self.events):
            self.events.append(self.read())

    def close(self) -> None:
        os.close(self.out)
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)
        os.close(self.back)


def visit(page: Path, expressions: tuple[str, ...] = (), screenshot: Path | None = None) -> Visit:
    """Open the page, evaluate the expressions in it, and tell what happened."""
    program = browser()
    if program is None:
        raise FileNotFoundError(f"none of {', '.join(NAMES)} is installed")
    address, found = page.resolve().as_uri(), Visit()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        pipe = Pipe(program, profile)
        try:
            target = pipe.ask("Target.createTarget", url="about:blank")["targetId"]
            session = pipe.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
            for domain in ("Runtime", "Log", "Network", "Page"):
                pipe.ask(f"{domain}.enable", session)
            pipe.events.clear()
            pipe.ask("Page.navigate", session, url=address)
            pipe.wait_for("Page.loadEventFired")
            for expression in expressions:
                told = pipe.ask("Runtime.evaluate", session, expression=expression, returnByValue=True)
                found.answers.append(told["result"].get("value"))
            if screenshot is not None:
                picture = pipe.ask("Page.captureScreenshot", session, format="png")["data"]
                screenshot.write_bytes(base64.b64decode(picture))
            for event in pipe.events:
                found.note(event, address)
        finally:
            pipe.close()
    return found


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("report", type=Path)
    parser.add_argument("--screenshot", type=Path, metavar="FILE.png")
    arguments = parser.parse_args()
    found = visit(arguments.report, screenshot=arguments.screenshot)
    for line in found.complaints:
        print(f"the browser complains: {line}")
    for line in found.requests:
        print(f"the page asks for {line}")
    return int(bool(found.complaints or found.requests))


if __name__ == "__main__":
    sys.exit(main())
