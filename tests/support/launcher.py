"""Has programs of Ostler started by `launcher_program.py`, and tells how they end.

`launcher()` is this process's own: one program that has imported Ostler serves all its tests. What a user
types, the installed command with its own start, is run by `server.running_program` instead. This module is a
pytest plugin of tests/conftest.py, so that the program ends with the tests.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
_PATIENCE_S = 60


@dataclass(slots=True)
class Launched:
    """One program that was started; the same words as a `subprocess.Popen`."""

    by: "Launcher"
    pid: int
    stdout: IO[str] | None = None
    stderr: IO[str] | None = None

    def poll(self) -> int | None:
        """Return how it ended; None while it lives."""
        return self.by.ended.get(self.pid)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return the exit code; below 0: the signal that ended it."""
        with self.by.news:
            if not self.by.news.wait_for(lambda: self.pid in self.by.ended, timeout):
                raise subprocess.TimeoutExpired(["ostler"], timeout or 0)
        return self.by.ended[self.pid]

    def send_signal(self, how: int) -> None:
        """Send it a signal, if it lives."""
        if self.poll() is None:
            os.kill(self.pid, how)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        self.send_signal(signal.SIGKILL)


@dataclass(slots=True)
class Launcher:
    """Starts programs."""

    program: subprocess.Popen[bytes]
    channel: socket.socket
    ended: dict[int, int] = field(default_factory=dict)
    news: threading.Condition = field(default_factory=threading.Condition)
    listener: threading.Thread = field(init=False)
    _ordering: threading.Lock = field(default_factory=threading.Lock)
    _started: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.listener = threading.Thread(target=self._listen, daemon=True)

    def start(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path, outputs: tuple[int, int]
    ) -> Launched:
        """Start `ostler` with arguments in a folder, its output and errors going to open files."""
        order = {"arguments": list(arguments), "environment": dict(environment), "folder": str(folder)}
        with self._ordering, self.news:
            socket.send_fds(self.channel, [json.dumps(order).encode() + b"\n"], outputs)
            assert self.news.wait_for(lambda: bool(self._started), _PATIENCE_S), "the launcher has ended"
            return Launched(self, self._started.pop())

    def _listen(self) -> None:
        """Take in what the program says, until it ends."""
        with self.channel.makefile() as said:
            for line in said:
                words = json.loads(line)
                with self.news:
                    if "started" in words:
                        self.ended.pop(words["started"], None)  # ids come round again
                        self._started.append(words["started"])
                    else:
                        self.ended[words["ended"]] = words["code"]
                    self.news.notify_all()

    def close(self) -> None:
        """End the program, and with it whatever it started."""
        self.channel.shutdown(socket.SHUT_WR)
        self.program.wait(_PATIENCE_S)
        self.listener.join(_PATIENCE_S)
        self.channel.close()


@cache
def launcher() -> Launcher:
    """Return this process's launcher, which ends with it."""
    ours, theirs = socket.socketpair()
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.support.launcher_program"], stdin=theirs.fileno(), cwd=ROOT
    )
    theirs.close()
    made = Launcher(program, ours)
    made.listener.start()
    return made


def launched(
    arguments: Sequence[str], environment: Mapping[str, str], folder: Path, errors: int | None = None
) -> Launched:
    """Start `ostler` with pipes to read what it prints; `errors`: an open file for its errors."""
    reading, writing = os.pipe()
    with os.fdopen(writing, "wb") as output, ExitStack() as outputs:
        heard = None
        if errors is None:
            heard, errors = os.pipe()
            outputs.callback(os.close, errors)
        started = launcher().start(arguments, environment, folder, (output.fileno(), errors))
    started.stdout = os.fdopen(reading, encoding="utf-8")
    started.stderr = None if heard is None else os.fdopen(heard, encoding="utf-8")
    return started


def pytest_unconfigure() -> None:
    """End the launcher, if there is one."""
    if launcher.cache_info().currsize:
        launcher().close()
        launcher.cache_clear()
