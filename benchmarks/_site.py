"""A site to measure: Ostler as a process of its own, as a user starts it, and its pretend cloud as another.

Where there are two cores, the server has one to itself and everything else, the load generator with the
cloud, the other. Settings are those that are shipped, but for the limit on calls to the cloud.
"""

import os
import resource
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg

from tests.support.databases import CACHE, address, served

KEY = f"ostler_{secrets.token_hex(16)}"
BIN = Path(sys.executable).parent
PRODUCT, TEMPLATE = "RTX 4090 24GB", "102"
_SHELF = ("productId", "clusterId", "mode")
_PATIENCE_S = 60
_TICKS = os.sysconf("SC_CLK_TCK")
_PAGE = resource.getpagesize()


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs, seen from outside."""

    process: subprocess.Popen[str]
    url: str
    began: float  # when it was started, by `time.perf_counter`

    def cpu_s(self) -> float:
        """Return how many seconds of a core it has used so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def memory_mb(self) -> float:
        """Return how much of the machine's memory it has."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * _PAGE / 1e6


@dataclass(frozen=True, slots=True)
class Site:
    """A server, its cloud and the clients of both."""

    ostler: Program
    cloud: Program
    api: httpx2.Client
    sim: httpx2.Client

    def control(self, path: str, **body: object) -> None:
        """Turn a control of the pretend cloud."""
        answer = self.sim.post(f"/_sim{path}", json=body)
        assert answer.is_success, answer.text

    def calls(self, verb: str) -> int:
        """Return how many calls of a verb have arrived at the cloud."""
        routes = self.sim.get("/_sim/calls").json()["routes"]
        return sum(
            count for route, count in routes.items() if route.startswith("POST") and route.endswith(verb)
        )

    def stock_up(self) -> None:
        """Let the cloud have more of everything than is asked for, and the account the money for it."""
        shelves = self.sim.get("/_sim/stock").json()["stock"]
        for shelf in shelves:
            self.control("/stock", **{name: shelf[name] for name in _SHELF}, free=1_000_000)
        self.control("/balance", usd=1e9)

    def created(self, name: str, **changes: object) -> str:
        """Have an instance created; return its id."""
        body = {"name": name, "productName": PRODUCT, "templateId": TEMPLATE, **changes}
        answer = self.api.post("/api/instances", json=body)
        assert answer.is_success, answer.text
        return str(answer.json()["instanceId"])


def cores() -> tuple[set[int], set[int]]:
    """Return the cores of the server and those of everything else; the same ones where there is only one."""
    if not hasattr(os, "sched_getaffinity"):
        return set(), set()
    all_of_them = sorted(_CORES_AT_START)
    return {all_of_them[0]}, set(all_of_them[1:]) or {all_of_them[0]}


_CORES_AT_START = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()


@contextmanager
def on_cores(wanted: set[int]) -> Iterator[None]:
    """Have what is started in this block run on some cores; programs keep the cores they were started on."""
    if not wanted:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def running(
    command: Sequence[str | Path], folder: Path, until: str, settings: Mapping[str, str]
) -> Iterator[Program]:
    """Run a program for a block; wait for the line that ends with its address."""
    with (folder / f"{time.monotonic_ns()}.log").open("w") as log:
        began = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 -- our own programs
            command, cwd=folder, env=dict(settings), stdout=subprocess.PIPE, stderr=log, text=True
        )
        assert process.stdout
        try:
            line = next((each for each in process.stdout if until in each), "")
            assert line, f"{command} did not start: see {log.name}"
            words = line.replace("/api ", " ").split()
            yield Program(process, next(word for word in words if word.startswith("http://")), began)
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(_PATIENCE_S)
            process.stdout.close()


@contextmanager
def bare(folder: Path) -> Iterator[Program]:
    """Run the bare baseline on the server's core."""
    root = Path(__file__).parents[1]
    with (
        on_cores(cores()[0]),
        running(
            [sys.executable, "-m", "benchmarks._bare"], folder, "http", {"PYTHONPATH": str(root)}
        ) as program,
        on_cores(cores()[1]),
    ):
        yield program


@contextmanager
def site(where: Path, speed: float = 60, settings: Mapping[str, str] | None = None) -> Iterator[Site]:
    """Run the cloud and then Ostler for a block; their data lie in the folder."""
    with simulator(where, speed) as cloud, beside(where, cloud, settings) as found:
        yield found


@contextmanager
def simulator(where: Path, speed: float) -> Iterator[Program]:
    """Run the pretend cloud for a block, beside the load generator."""
    command = (BIN / "ostler", "simulator", "--port", "0", "--speed", str(speed))
    with on_cores(cores()[1]), running(command, where, "http", {}) as program:
        yield program


@contextmanager
def beside(where: Path, cloud: Program, settings: Mapping[str, str] | None = None) -> Iterator[Site]:
    """Run Ostler for a block for a cloud that is there; the block has the other cores."""
    own, others = cores()
    wanted = server_settings(where, cloud.url) | dict(settings or {})
    with ExitStack() as stack:
        stack.enter_context(on_cores(own))
        ostler = stack.enter_context(running((BIN / "ostler", "serve"), where, "API", wanted))
        stack.enter_context(on_cores(others))
        api = stack.enter_context(client(ostler.url, KEY))
        yield Site(ostler, cloud, api, stack.enter_context(client(cloud.url, "sk_bench")))


def server_settings(folder: Path, cloud_url: str) -> dict[str, str]:
    """Return the settings of a server that is measured."""
    return {
        "NOVITA_API_KEY": "sk_bench",
        "NOVITA_API_BASE_URL": cloud_url,
        "OSTLER_ADMIN_KEY": KEY,
        "OSTLER_DATA_DIR": str(folder / "data"),
        "OSTLER_RATE_LIMIT_PER_MINUTE": "0",
        "OSTLER_API_RATE_LIMIT": "off",
        "OSTLER_LOG_FORMAT": "json",
        "PORT": "0",
    }


@contextmanager
def folder() -> Iterator[Path]:
    """Give a folder on a real disk for a block."""
    CACHE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=CACHE, ignore_cleanup_errors=True) as path:
        yield Path(path)


@contextmanager
def postgres(where: Path) -> Iterator[str]:
    """Run a durable PostgreSQL for a block, beside the load generator; give the address of a database."""
    with on_cores(cores()[1]), served(where / "postgres") as server:
        with psycopg.connect(address(server), autocommit=True) as connection:
            connection.execute("CREATE DATABASE bench")
        yield address(server.set(database="bench"))


def client(url: str, key: str) -> httpx2.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx2.Client(base_url=url, headers=headers, timeout=_PATIENCE_S, trust_env=False)
