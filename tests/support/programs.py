"""Programs of users as processes: the clients and the webhook receivers of `examples/`, run as they stand.

A receiver is started on a free port and prints a line of JSON for each message that it takes.
"""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.needs import path_of

EXAMPLES = Path(__file__).parents[2] / "examples"
_PATIENCE_S = 60


@dataclass(frozen=True, slots=True)
class Program:
    """One of the examples and what runs it."""

    path: str
    runner: Callable[[], str]

    @property
    def command(self) -> list[str]:
        """The words that run it."""
        return [self.runner(), str(EXAMPLES / self.path)]


def in_python(path: str) -> Program:
    """Return a program for the Python of the tests."""
    return Program(path, lambda: sys.executable)


def in_node(path: str) -> Program:
    """Return a program for Node; its test carries the mark."""
    return Program(path, lambda: path_of("node"))


def in_shell(path: str) -> Program:
    """Return a program for the shell."""
    return Program(path, lambda: "/bin/sh")


def run(program: Program, *arguments: str, **variables: str) -> list[str]:
    """Run a program to its good end, and return the lines that it printed."""
    done = subprocess.run(  # noqa: S603 -- our own program
        [*program.command, *arguments],
        env=_environment(variables),
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


@dataclass(slots=True)
class RunningReceiver:
    """A webhook receiver that listens; `taken` is what it has printed."""

    url: str
    taken: list[dict[str, object]]
    _changed: threading.Condition

    def until_it_took(self, event: str, instance_id: str) -> list[str]:
        """Wait for an event of an instance; return the names of all that it took of it, in order."""
        with self._changed:
            assert self._changed.wait_for(lambda: event in self._of(instance_id), _PATIENCE_S), self.taken
            return self._of(instance_id)

    def _of(self, instance_id: str) -> list[str]:
        return [str(each["event"]) for each in self.taken if each["instanceId"] == instance_id]


@contextmanager
def receiving_program(program: Program, secret: str) -> Iterator[RunningReceiver]:
    """Run a receiver for a block."""
    process = subprocess.Popen(  # noqa: S603 -- our own program
        program.command,
        env=_environment({"WEBHOOK_SECRET": secret, "PORT": "0"}),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    url = process.stdout.readline().removeprefix("listening on ").strip()
    receiver = RunningReceiver(url, [], threading.Condition())

    def read() -> None:
        assert process.stdout
        for line in process.stdout:
            with receiver._changed:
                receiver.taken.append(json.loads(line))
                receiver._changed.notify_all()

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        yield receiver
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)
        reader.join(_PATIENCE_S)
        process.stdout.close()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {"PATH": os.defpath, "POLL_SECONDS": "0.1", **variables}
