"""The simulator as a test's double of the cloud: in process with a hand-turned clock, or over real HTTP.

`SimulatedCloud` needs no socket: its client talks to the cloud as values, and a reset or a silence
becomes the exception that a client would see. `over_http` puts the same double on loopback, in this event
loop; `spawned_simulator` starts a process of its own, to be killed. Faults are asked for in words:
`cloud.next_create(no_capacity())`.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx2

from ostler.simulator.app import AppScript
from ostler.simulator.clock import WorldClock, monotonic
from ostler.simulator.cloud import Cloud
from ostler.simulator.creation import create
from ostler.simulator.durations import Durations
from ostler.simulator.exchange import ErrorBody, Hangup, Reply, Request, Silence
from ostler.simulator.faults import Fault, FaultKind
from ostler.simulator.genesis import new_world
from ostler.simulator.instance import ExposedPort, Instance, Mode
from ostler.simulator.lifecycle import move
from ostler.simulator.order import Order
from ostler.simulator.running import SimulatorConfig, serving
from ostler.simulator.status import Status
from ostler.simulator.world import World
from tests.support.launcher import Launched, launched

EPOCH = 1_785_780_950.0
API_KEY = "sk_simulated"
CREATE = "POST */gpu/instance/create"
BASE_URL = "http://cloud.test"
_PATIENCE_S = 10

_EXACT = Durations(spread=0.0)


def no_capacity() -> Fault:
    """The cloud has nothing left, whatever its listing said."""
    return Fault(0, FaultKind.NO_CAPACITY)


def timeout_after_effect() -> Fault:
    """It happens, and no answer ever comes."""
    return Fault(0, FaultKind.TIMEOUT_AFTER)


def timeout_before_effect() -> Fault:
    """Nothing happens, and no answer ever comes."""
    return Fault(0, FaultKind.TIMEOUT_BEFORE)


def reset_after_effect() -> Fault:
    """It happens, and the connection is reset."""
    return Fault(0, FaultKind.RESET_AFTER)


def reset_before_effect() -> Fault:
    """Nothing happens, and the connection is reset."""
    return Fault(0, FaultKind.RESET_BEFORE)


def rate_limited(retry_after: int | None = None, body: ErrorBody | None = None) -> Fault:
    """429."""
    return Fault(0, FaultKind.RATE_LIMIT, retry_after=retry_after, body=body)


def server_error(status: int = 502, *, after_effect: bool = False) -> Fault:
    """A gateway's page or the cloud's own 500."""
    return Fault(0, FaultKind.STATUS, status=status, after=after_effect)


def refused(reason: str, status: int = 400, *, after_effect: bool = False) -> Fault:
    """An envelope with a reason; `invalid state change` after the effect is the cloud's own trick."""
    message = "invalid state change" if reason == "INVALID_STATE_CHANGE" else reason.lower()
    return Fault(0, FaultKind.REFUSAL, status=status, reason=reason, message=message, after=after_effect)


def malformed_answer() -> Fault:
    """It happens, and half of the JSON comes."""
    return Fault(0, FaultKind.MALFORMED_JSON)


def slow(seconds: float) -> Fault:
    """The right answer, late."""
    return Fault(0, FaultKind.LATENCY, seconds=seconds)


def late_in_lists(seconds: float) -> Fault:
    """The right answer at once, and lists that show the effect later."""
    return Fault(0, FaultKind.LATE_IN_LISTS, seconds=seconds)


@dataclass(slots=True)
class SimulatedCloud:
    """A pretend cloud in this process, whose time passes when the test says so."""

    cloud: Cloud = field(
        default_factory=lambda: Cloud(
            new_world(EPOCH, durations=_EXACT), WorldClock(monotonic, start=EPOCH, speed=0)
        )
    )

    @property
    def world(self) -> World:
        """Everything that is in it."""
        return self.cloud.world

    def advance(self, seconds: float) -> None:
        """Let time pass in the cloud."""
        self.cloud.clock.advance(seconds)
        self.cloud.catch_up()

    def next_create(self, fault: Fault) -> None:
        """Spoil the next create."""
        self.next_call(CREATE, fault)

    def next_call(self, route: str, fault: Fault, times: int = 1) -> None:
        """Spoil the next calls of a route, named by a glob over `METHOD /path`."""
        self.cloud.faults.add(replace(fault, id=self.cloud.faults.next_id(), route=route, times=times))

    def share_of_calls(self, route: str, fault: Fault, share: float) -> None:
        """Spoil a share of all calls of a route, from now on."""
        number = self.cloud.faults.next_id()
        self.cloud.faults.add(replace(fault, id=number, route=route, times=None, share=share))

    def all_is_well(self) -> None:
        """Take back all faults."""
        self.cloud.faults.clear()

    def set_app(self, instance_id: str, script: AppScript) -> None:
        """Say what an instance's application answers."""
        self.world.instances[instance_id].app = script

    def calls_of(self, route: str) -> int:
        """Return how often a route was called, named by its key."""
        return self.cloud.calls.by_route[route]

    def instances_named(self, name: str) -> list[Instance]:
        """Return the instances of a name that are not gone."""
        return [instance for instance in self.world.instances.values() if instance.name == name]

    def transport(self) -> httpx2.AsyncBaseTransport:
        """Return what an HTTP client takes for a network."""
        return CloudTransport(self.cloud)

    def client(self, timeout_s: float = 5.0) -> httpx2.AsyncClient:
        """Return a client of it."""
        return httpx2.AsyncClient(
            transport=self.transport(),
            base_url=BASE_URL,
            headers={"Authorization": f"Bearer {API_KEY}"},
            timeout=timeout_s,
        )

    @asynccontextmanager
    async def over_http(self) -> AsyncIterator[str]:
        """Put it on loopback, its instances' doors too; yields the base URL."""
        async with serving(self.cloud, SimulatorConfig(port=0)) as address:
            yield address
        self.world.doors = None


def an_order(mode: Mode = Mode.ON_DEMAND, account: str = "default") -> Order:
    """Return an order that the default market can fill, with an image that is quick to pull."""
    return Order(
        account=account,
        product_id="4090.16c62g",
        image_url="novitalabs/ubuntu:22.04",
        name="demo",
        mode=mode,
        months=1,
        cluster_ids=("us-ca-6",),
        ports=(ExposedPort(8080, "http"), ExposedPort(22, "tcp")),
    )


def a_simulated_instance(
    world: World, status: Status = Status.RUNNING, mode: Mode = Mode.ON_DEMAND
) -> Instance:
    """Return an instance that was put into a status, whatever leads there; stock and money agree with it."""
    instance = create(world, an_order(mode))
    move(world, instance, status)
    return instance


def until(world: World, instance: Instance, status: Status) -> None:
    """Let time pass until an instance reaches a status."""
    for _ in range(100):
        if instance.status is status:
            return
        due = world.next_due()
        assert due is not None, f"{instance.status} stays"
        world.advance(due)
    raise AssertionError(instance.status)


@dataclass(slots=True)
class CloudTransport(httpx2.AsyncBaseTransport):
    """Carries requests to a cloud without a socket; waits as long as a client would."""

    cloud: Cloud

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        outcome = await self.cloud.answer(
            Request(
                method=request.method,
                path=request.url.path,
                query={key: tuple(request.url.params.get_list(key)) for key in request.url.params},
                headers={key.lower(): value for key, value in request.headers.items()},
                body=await request.aread(),
            )
        )
        match outcome:
            case Reply():
                headers = [("content-type", outcome.content_type)] if outcome.content_type else []
                return httpx2.Response(
                    outcome.status, headers=[*headers, *outcome.headers], content=outcome.body
                )
            case Hangup():
                raise httpx2.ReadError(message="connection reset by peer", request=request)
            case Silence():
                await asyncio.sleep(request.extensions["timeout"]["read"])  # noqa: TID251 -- the client's patience
                raise httpx2.ReadTimeout(message="no answer", request=request)


@dataclass(frozen=True, slots=True)
class SpawnedSimulator:
    """A simulator in a process of its own."""

    process: Launched
    address: str

    def kill(self) -> None:
        """End it without a chance to say goodbye."""
        self.process.kill()
        self.process.wait(_PATIENCE_S)


@contextmanager
def spawned_simulator(
    state: Path | None = None, *, speed: float | None = 0.0, port: int = 0
) -> Iterator[SpawnedSimulator]:
    """Start a simulator, on a free port unless one is given, and wait until it answers."""
    words = ["simulator", f"--port={port}", f"--speed={speed}"]
    if state is not None:
        words.append(f"--state={state}")
    process = launched(words, {}, Path.cwd(), errors=sys.stderr.fileno())
    assert process.stdout is not None
    try:
        yield SpawnedSimulator(process, process.stdout.readline().rsplit(" ", 1)[-1].strip())
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)
        process.stdout.close()
