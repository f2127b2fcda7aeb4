"""A real Ostler as a process of its own, as a user starts it, for tests that look at it from outside."""

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx2

from tests.support.launcher import Launched, launched

OSTLER = Path(sys.executable).parent / "ostler"
ADMIN_KEY = "ostler_key-of-the-tests-0123456789"
_PATIENCE_S = 30


@dataclass(slots=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    stdout: str
    stderr: str


@dataclass(slots=True)
class OstlerProcess:
    """A running server, seen from outside."""

    process: subprocess.Popen[str] | Launched
    banner: list[str]
    log: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Where it listens."""
        return self._said(r"API\s+(http://\S+)/api ")

    @property
    def login_url(self) -> str:
        """The one-time link that it printed."""
        return self._said(r"dashboard\s+(\S+)")

    @property
    def cloud_url(self) -> str:
        """The cloud that it asks."""
        return self._said(r"cloud\s+(?:simulated at )?(http[^\s,]+)")

    def client(self, key: str | None = ADMIN_KEY) -> httpx2.Client:
        """Return a client that shows the key, or none."""
        return visiting(self.url, key)

    def entries(self) -> list[Mapping[str, object]]:
        """Return what it has logged so far."""
        return [json.loads(line) for line in self.log if line.startswith("{")]

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(how)
        return self.process.wait(_PATIENCE_S)

    def _said(self, pattern: str) -> str:
        found = re.search(pattern, "".join(self.banner))
        assert found, f"the banner does not say {pattern}: {self.banner}"
        return found.group(1)


def visiting(url: str, key: str | None = ADMIN_KEY) -> httpx2.Client:
    """Return a client of an address that shows the key, or none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.Client(base_url=url, headers=headers, timeout=_PATIENCE_S, trust_env=False)


def environment(directory: Path, **settings: str) -> dict[str, str]:
    """Return the environment of a server in a directory of its own, at free ports."""
    return {
        "OSTLER_DATA_DIR": str(directory),
        "OSTLER_ADMIN_KEY": ADMIN_KEY,
        "OSTLER_LOG_FORMAT": "json",
        "OSTLER_SIMULATOR_PORT": "0",
        "PORT": "0",
    } | settings


def ostler(*arguments: str, directory: Path, **settings: str) -> Ended:
    """Run a command of Ostler to its end."""
    done = subprocess.run(  # noqa: S603 -- our own program
        [OSTLER, *arguments],
        env=environment(directory, **settings),
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@contextmanager
def running_ostler(directory: Path, command: str = "up", **settings: str) -> Iterator[OstlerProcess]:
    """Start a server and wait until it has said where it is; end it with the block."""
    process = launched(command.split(), environment(directory, **settings), directory)
    with _followed(process) as server:
        yield server


@contextmanager
def running_program(program: Sequence[str], directory: Path, **settings: str) -> Iterator[OstlerProcess]:
    """Start a program that is a server by its own command, for a block like that of `running_ostler`."""
    process = subprocess.Popen(  # noqa: S603 -- our own program
        program,
        env=environment(directory, **settings),
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with _followed(process) as server:
        yield server


@contextmanager
def _followed(process: subprocess.Popen[str] | Launched) -> Iterator[OstlerProcess]:
    server = OstlerProcess(process, [])
    assert process.stdout
    assert process.stderr
    reader = threading.Thread(target=server.log.extend, args=(process.stderr,), daemon=True)
    reader.start()
    try:
        for line in process.stdout:
            server.banner.append(line)
            if line.lstrip().startswith("cloud"):
                break
        assert process.poll() is None, server.log
        yield server
    finally:
        if process.poll() is None:
            server.stop()
        reader.join(_PATIENCE_S)
        process.stdout.close()
        process.stderr.close()
