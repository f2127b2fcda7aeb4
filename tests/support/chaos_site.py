"""A site for chaos: a pretend cloud that survives, and servers of Ostler that do not.

`pretend_cloud` is `ostler simulator` as a process; `Server` runs `ostler serve` again and again at one port,
and ends it by `kill -9`, or only lets it sleep. Both are started by `launcher.py`.
"""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

from ostler.clock import SystemClock
from tests.support.chaos_verdict import Theirs
from tests.support.launcher import launcher
from tests.support.server import ADMIN_KEY

_PATIENCE_S = 60
_POLL_S = 0.005
_CLOCK = SystemClock()
_GENTLE = {
    "NOVITA_API_KEY": "sk_x",
    "OSTLER_ADMIN_KEY": ADMIN_KEY,
    "OSTLER_SECRET_KEY": "a-key-that-all-lives-of-a-site-share",
    "OSTLER_LOG_FORMAT": "json",
    "OSTLER_RATE_LIMIT_PER_MINUTE": "0",
    "OSTLER_API_RATE_LIMIT": "off",
    "OSTLER_CREATE_SETTLE_SECONDS": "2",
    "OSTLER_FAST_POLL_SECONDS": "0.3",
    "OSTLER_BREAKER_RECOVERY_SECONDS": "1",
    "REQUEST_TIMEOUT": "2000",
    "DEFAULT_REGION": "US-CA-06",
}


@dataclass(frozen=True, slots=True)
class PretendCloud:
    """The pretend cloud as a process of its own, seen through its controls."""

    address: str
    controls: httpx2.AsyncClient

    async def ledger(self) -> list[Theirs]:
        """Return every instance that was ever there."""
        entries = (await self._asked("GET", "/_sim/ledger"))["instances"]
        assert isinstance(entries, list)
        return [Theirs(each["id"], each["name"], each["status"], each["alive"]) for each in entries]

    async def spoil(self, fault: Mapping[str, object]) -> None:
        """Let calls go wrong, in the words of docs/simulator.md."""
        await self._asked("POST", "/_sim/faults", fault)

    async def all_is_well(self) -> int:
        """Take back all faults; return how many calls they have struck."""
        waiting = (await self._asked("GET", "/_sim/faults"))["faults"]
        assert isinstance(waiting, list)
        await self._asked("DELETE", "/_sim/faults")
        return sum(int(fault["hits"]) for fault in waiting)

    async def _asked(self, method: str, path: str, body: object = None) -> dict[str, object]:
        answer = await self.controls.request(method, path, json=body)
        answer.raise_for_status()
        found: dict[str, object] = answer.json()
        return found


@asynccontextmanager
async def pretend_cloud(folder: Path, speed: float) -> AsyncIterator[PretendCloud]:
    """Run a pretend cloud, which lives as long as the block."""
    port = _free_port()
    arguments = ("simulator", "--port", str(port), "--speed", str(speed))
    pid = _started(arguments, {"PATH": os.defpath, "HOME": str(folder)}, folder / "cloud.log")
    address = f"http://127.0.0.1:{port}"
    try:
        async with httpx2.AsyncClient(base_url=address, timeout=_PATIENCE_S, trust_env=False) as controls:
            await _until_open(port)
            yield PretendCloud(address, controls)
    finally:
        os.kill(pid, signal.SIGKILL)


@dataclass(slots=True)
class Server:
    """One server of Ostler at one port, for as many lives as it takes."""

    folder: Path
    environment: dict[str, str]
    port: int
    pid: int | None = None
    lives: int = 0

    @property
    def url(self) -> str:
        """Where it listens, when it lives."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin a life."""
        assert self.pid is None, "it lives"
        self.pid = _started(("serve",), self.environment, self.folder / "server.log")
        self.lives += 1

    async def until_it_answers(self) -> None:
        """Wait until it takes connections."""
        await _until_open(self.port)

    def pause(self) -> int:
        """Let it sleep in the middle of whatever it does, without its knowing; return its process id."""
        assert self.pid is not None, "it is dead"
        os.kill(self.pid, signal.SIGSTOP)
        return self.pid

    def wake(self) -> None:
        """Let it go on, as if no time had passed."""
        assert self.pid is not None, "it is dead"
        os.kill(self.pid, signal.SIGCONT)

    async def kill(self) -> int:
        """End it by `kill -9`; returns its process id, when nothing is left of it."""
        pid, self.pid = self.pid, None
        assert pid is not None, "it is dead"
        os.kill(pid, signal.SIGKILL)
        while _is_there(pid):
            await _CLOCK.sleep(_POLL_S)
        return pid

    def errors(self) -> list[str]:
        """Return what it has logged as an error, in all its lives."""
        return [
            line for line in self.log() if '"level":"error"' in line.replace(" ", "") or "Traceback" in line
        ]

    def log(self) -> list[str]:
        """Return all that it has logged, in all its lives."""
        return (self.folder / "server.log").read_text(errors="replace").splitlines()


def a_server(folder: Path, cloud: PretendCloud, **settings: str) -> Server:
    """Return a server that has not been started; `settings` are variables beyond the usual ones."""
    folder.mkdir(exist_ok=True)
    port = _free_port()
    own = {
        "NOVITA_API_BASE_URL": cloud.address,
        "OSTLER_DATA_DIR": str(folder),
        "PORT": str(port),
        "PATH": os.defpath,
        "HOME": str(folder),
    }
    return Server(folder, _GENTLE | own | settings, port)


def _started(arguments: Sequence[str], environment: Mapping[str, str], log: Path) -> int:
    with log.open("ab") as file:
        return launcher().start(arguments, environment, log.parent, (file.fileno(), file.fileno())).pid


async def _until_open(port: int) -> None:
    async with asyncio.timeout(_PATIENCE_S):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                await _CLOCK.sleep(_POLL_S)
            else:
                writer.close()
                return


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
