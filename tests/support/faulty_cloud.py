"""The setting for faults: a pretend cloud to be spoiled, the transport, and ours on it.

In process in the loop's time, so that waits cost nothing; or over a socket, in real time.
"""

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from ostler.clock import SystemClock
from ostler.cloud.breaker import BreakerState
from ostler.cloud.lane import Lane
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.refusals import CloudRefusal
from ostler.cloud.request import Kind
from ostler.cloud.transport import Transport, TransportConfig
from tests.support.cloud import LoopClock, an_order
from tests.support.simulator import API_KEY, BASE_URL, SimulatedCloud

CREATE = "POST /gpu-instance/openapi/v1/gpu/instance/create"
STOP = "POST /gpu-instance/openapi/v1/gpu/instance/stop"
LIST = "GET /gpu-instance/openapi/v1/gpu/instances"
USER = Lane.USER


@dataclass
class Setting:
    """The pretend cloud, the transport and ours on it."""

    simulated: SimulatedCloud
    transport: Transport
    cloud: NovitaCloud

    def effects(self) -> int:
        """Return how many instances were ever made."""
        return len(self.simulated.world.ledger)

    def calls(self, route: str) -> int:
        return self.simulated.calls_of(route)

    def state_of(self, kind: Kind) -> BreakerState:
        return self.transport.breakers()[kind].state

    async def running(self) -> str:
        upstream_id = await self.cloud.create(an_order())
        self.simulated.advance(600)
        return upstream_id


def a_setting(attempts: int = 3, timeout_s: float = 10) -> Setting:
    simulated = SimulatedCloud()
    config = TransportConfig(
        BASE_URL, SecretStr(API_KEY), timeout_s=timeout_s, max_attempts=attempts, per_minute=0
    )
    transport = Transport(config, LoopClock(), network=simulated.transport())
    return Setting(simulated, transport, NovitaCloud(transport))


@asynccontextmanager
async def over_http(timeout_s: float) -> AsyncIterator[Setting]:
    simulated = SimulatedCloud()
    async with simulated.over_http() as address:
        config = TransportConfig(
            address, SecretStr(API_KEY), timeout_s=timeout_s, max_attempts=2, per_minute=0
        )
        transport = Transport(config, SystemClock())
        yield Setting(simulated, transport, NovitaCloud(transport))
        await transport.aclose()


async def refusal_of(call: Awaitable[object]) -> CloudRefusal | None:
    try:
        await call
    except CloudRefusal as refusal:
        return refusal
    return None
