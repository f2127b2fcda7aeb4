"""The setting of the provider's contract suite: a pretend cloud, and ours that talks to it.

In process or over real HTTP; everything else is the same, and so must be what the suite sees.
"""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from ostler.clock import SystemClock
from ostler.cloud.lane import Lane
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.provider import Cloud
from ostler.cloud.transport import Transport, TransportConfig
from ostler.domain.catalogue import Region, RegistryAuth, region_called
from ostler.domain.upstream import UpstreamState
from ostler.simulator import stockroom
from ostler.simulator.instance import Mode
from ostler.simulator.market import Shelf
from tests.support.cloud import an_order
from tests.support.simulator import API_KEY, BASE_URL, SimulatedCloud

PRODUCT, CLUSTER = "4090.16c62g", "us-ca-6"
UNTIL_RUNNING_S = 60.0
USER = Lane.USER


@dataclass
class Setting:
    """The pretend cloud and ours that talks to it."""

    simulated: SimulatedCloud
    cloud: Cloud

    async def running(self, name: str = "demo") -> str:
        upstream_id = await self.cloud.create(an_order(name))
        self.simulated.advance(UNTIL_RUNNING_S * 10)
        return upstream_id

    async def stopped(self) -> str:
        upstream_id = await self.running()
        await self.cloud.stop(upstream_id)
        self.simulated.advance(UNTIL_RUNNING_S)
        return upstream_id

    async def state(self, upstream_id: str) -> UpstreamState:
        return (await self.cloud.get(upstream_id, lane=USER)).state

    async def region(self, word: str = CLUSTER) -> Region:
        found = region_called(await self.cloud.regions(lane=USER), word)
        assert found is not None
        return found

    def sell_out(self, mode: Mode = Mode.ON_DEMAND) -> None:
        stockroom.fill(self.simulated.world, Shelf(PRODUCT, CLUSTER, mode, 0, 1))


async def saved_credentials(setting: Setting) -> RegistryAuth:
    """Let the account have registry credentials, and return them by id."""
    body = {"name": "registry.test", "username": "robot", "password": "registry-canary"}
    async with setting.simulated.client() as client:
        await client.post("/gpu-instance/openapi/v1/repository/auth/save", json=body)
    auths = await setting.cloud.registry_auths(lane=USER)
    return next(auth for auth in auths if auth.name == body["name"])


@asynccontextmanager
async def a_setting(*, is_over_http: bool) -> AsyncIterator[Setting]:
    """Set a new pretend cloud up, and take it down."""
    simulated = SimulatedCloud()
    async with AsyncExitStack() as stack:
        address = await stack.enter_async_context(simulated.over_http()) if is_over_http else BASE_URL
        network = None if is_over_http else simulated.transport()
        config = TransportConfig(address, SecretStr(API_KEY), timeout_s=10, max_attempts=1, per_minute=0)
        transport = Transport(config, SystemClock(), network=network)
        stack.push_async_callback(transport.aclose)
        yield Setting(simulated, NovitaCloud(transport))
