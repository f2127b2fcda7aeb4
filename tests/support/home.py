"""A home: a real Ostler with its pretend cloud, and what tests do with instances over real HTTP.

The cloud's time runs sixty times as fast as ours, unless a test slows it down; ours runs as it does. A server
lives as long as a file of tests: give instances names and labels of their own.
"""

import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from tests.support.databases import an_empty_database
from tests.support.server import OstlerProcess, running_ostler

SPEED = "60"
SETTINGS = {
    "OSTLER_SIMULATOR_SPEED": SPEED,
    "OSTLER_FAST_POLL_SECONDS": "0.2",
    "OSTLER_RATE_LIMIT_PER_MINUTE": "0",
    "OSTLER_CREATE_SETTLE_SECONDS": "1",
    "OSTLER_API_RATE_LIMIT": "off",
}
PRODUCT = "RTX 4090 24GB"
TEMPLATE = "102"  # HTTP at 8888 and 6006, SSH
CLOUD_API = "/gpu-instance/openapi/v1"
LONGEST_WAIT_S = 60
Details = dict[str, object]  # a JSON object that was answered


@dataclass(frozen=True, slots=True)
class Home:
    """A server, a client of it with the administrator's key, and a client of its cloud."""

    server: OstlerProcess
    api: httpx2.Client
    cloud: httpx2.Client

    def body(self, **changes: object) -> dict[str, object]:
        """Return a create that can be carried out, under a name of its own."""
        return {"name": a_name(), "productName": PRODUCT, "templateId": TEMPLATE, **changes}

    def created(self, **changes: object) -> str:
        """Have an instance created and return its id."""
        answer = self.api.post("/api/instances", json=self.body(**changes))
        assert answer.status_code == 201, answer.text
        return str(answer.json()["instanceId"])

    def waited(self, instance_id: str, wait_for: str, timeout_s: float = LONGEST_WAIT_S) -> Details:
        """Wait until it is so, and return what it is then."""
        found = self.looked(instance_id, waitFor=wait_for, timeoutSeconds=timeout_s)
        assert found["waited"] == "reached", found
        return found

    def running(self, **changes: object) -> str:
        """Have an instance created, wait until it runs, and return its id."""
        instance_id = self.created(**changes)
        self.waited(instance_id, "running")
        return instance_id

    def exited(self, **changes: object) -> str:
        """Have an instance created and stopped, and return its id."""
        instance_id = self.running(**changes)
        self.asked(instance_id, "stop")
        self.waited(instance_id, "exited")
        return instance_id

    def looked(self, instance_id: str, **query: str | float) -> Details:
        """Return an instance's details."""
        answer = self.api.get(f"/api/instances/{instance_id}", params=query)
        assert answer.status_code == 200, answer.text
        return details_in(answer)

    def asked(self, instance_id: str, verb: str, body: Mapping[str, object] | None = None) -> Details:
        """Ask a verb that is accepted, and return the answer."""
        answer = self.asking(instance_id, verb, body)
        assert answer.status_code == 202, answer.text
        return details_in(answer)

    def asking(
        self, instance_id: str, verb: str, body: Mapping[str, object] | None = None
    ) -> httpx2.Response:
        """Ask a verb, whatever becomes of it."""
        if verb == "delete":
            return self.api.delete(f"/api/instances/{instance_id}")
        return self.api.post(f"/api/instances/{instance_id}/{verb}", json=body)

    def listed(self, instance_id: str, what: str) -> list[Details]:
        """Return an instance's events, attempts or operations."""
        answer = self.api.get(f"/api/instances/{instance_id}/{what}")
        assert answer.status_code == 200, answer.text
        found = answer.json()[what]
        assert isinstance(found, list)
        return found

    def ended(self, operation_id: object) -> Details:
        """Return an operation once it has ended."""
        return until(
            lambda: details_in(self.api.get(f"/api/operations/{operation_id}")),
            lambda operation: operation["status"] == "ended",
        )

    def control(self, path: str, **body: object) -> None:
        """Turn a control of the cloud."""
        answer = self.cloud.post(f"/_sim{path}", json=body)
        assert answer.is_success, answer.text

    @contextmanager
    def slowly(self) -> Iterator[None]:
        """Let the cloud's time run as ours does, so that what takes it seconds can be interrupted."""
        self.control("/clock", speed=1)
        try:
            yield
        finally:
            self.control("/clock", speed=float(SPEED))


def a_name() -> str:
    """Return a name that nothing else has."""
    return f"demo-{secrets.token_hex(4)}"


def details_in(answer: httpx2.Response) -> Details:
    """Return the JSON object that an answer holds."""
    found: object = answer.json()
    assert isinstance(found, dict)
    return found


def code_of(answer: httpx2.Response) -> tuple[int, str]:
    """Return the status and code of a refusal."""
    return answer.status_code, answer.json()["error"]["code"]


def until(look: Callable[[], Details], is_so: Callable[[Details], bool]) -> Details:
    """Look until it is so; the test's own time limit ends what never becomes so."""
    pause = threading.Event()
    while not is_so(found := look()):
        pause.wait(0.05)
    return found


def part(whole: object, *steps: str | int) -> object:
    """Return what lies inside a JSON value."""
    for step in steps:
        match whole, step:
            case dict(), str():
                whole = whole[step]
            case list(), int():
                whole = whole[step]
            case _:
                raise AssertionError(step, whole)
    return whole


def parts(whole: object, *steps: str | int) -> list[Details]:
    """Return the objects of a list that lies inside a JSON value."""
    found = part(whole, *steps)
    assert isinstance(found, list)
    return found


@contextmanager
def at_home(directory: Path, **settings: str) -> Iterator[Home]:
    """Run a server and its cloud for a block."""
    with running_ostler(directory, **(SETTINGS | settings)) as server, home_of(server) as home:
        yield home


@contextmanager
def home_of(server: OstlerProcess) -> Iterator[Home]:
    """Make a home of a server that runs."""
    with (
        server.client() as api,
        httpx2.Client(
            base_url=server.cloud_url,
            headers={"Authorization": "Bearer sk_simulated"},
            timeout=LONGEST_WAIT_S,
            trust_env=False,
        ) as cloud,
    ):
        api.timeout = httpx2.Timeout(LONGEST_WAIT_S * 2)
        yield Home(server, api, cloud)


@contextmanager
def at_home_on(
    request: pytest.FixtureRequest, factory: pytest.TempPathFactory, **settings: str
) -> Iterator[Home]:
    """Run a server on the kind of database that a fixture's parameter names, for a block."""
    with ExitStack() as stack:
        if request.param == "postgres":
            server = request.getfixturevalue("postgres_server")
            settings["OSTLER_DATABASE_URL"] = stack.enter_context(an_empty_database(server))
        yield stack.enter_context(at_home(factory.mktemp("ostler"), **settings))
