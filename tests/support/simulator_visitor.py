"""A visitor of the simulator: a client over real HTTP, with the simulator in reach behind it."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2

from tests.support.simulator import SimulatedCloud

V1 = "/gpu-instance/openapi/v1"
CREATE = f"{V1}/gpu/instance/create"
ORDER = {
    "name": "demo",
    "productId": "4090.16c62g",
    "gpuNum": 1,
    "rootfsSize": 60,
    "imageUrl": "novitalabs/ubuntu:22.04",
    "kind": "gpu",
    "ports": "8080/http, 22/tcp",
}


class Visitor:
    """A client of a simulator on loopback, and the simulator itself."""

    def __init__(self, simulated: SimulatedCloud, client: httpx2.AsyncClient) -> None:
        self.simulated = simulated
        self.client = client

    async def control(self, path: str, **body: object) -> httpx2.Response:
        """Ask a control."""
        return await self.client.post(f"/_sim{path}", json=body)

    async def create(self) -> httpx2.Response:
        """Create an instance that is called demo."""
        return await self.client.post(CREATE, json=ORDER)

    def made(self) -> int:
        """Return how many demos there are."""
        return len(self.simulated.instances_named("demo"))

    async def endpoint(self, instance_id: str, index: int = 0) -> str:
        """Return where a port of an instance is reached."""
        response = await self.client.get(f"{V1}/gpu/instance", params={"instanceId": instance_id})
        return str(response.json()["portMappings"][index]["endpoint"])


@asynccontextmanager
async def visiting() -> AsyncIterator[Visitor]:
    """Put a simulator in explicit mode on loopback and visit it."""
    simulated = SimulatedCloud()
    async with (
        simulated.over_http() as address,
        httpx2.AsyncClient(
            base_url=address, headers={"Authorization": "Bearer sk_journey"}, timeout=5
        ) as client,
    ):
        yield Visitor(simulated, client)
