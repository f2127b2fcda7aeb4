"""Addresses that the cloud tells: its health checks and logs are not a way into the operator's network.

Whoever can make the cloud say an address, or runs the name server of one, would have us ask it for them. A
real server listens on loopback and counts who comes.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from ssrfguard import Resolver

from ostler.clock import SystemClock
from ostler.cloud.log_reader import LogReader, LogWish
from ostler.cloud.lookups import Lookups
from ostler.cloud.reach import Reach, reach_of_cloud
from ostler.cloud.refusals import CloudRefusal
from ostler.cloud.upstream import Endpoint
from ostler.domain.catalogue import Protocol
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.readiness import EndpointHealth
from ostler.watch.prober import HttpProber
from tests.support.hostile_addresses import HOSTILE_URLS, INSIDE
from tests.support.name_server import name_server

PUBLIC = "93.184.216.34"
LOOPBACK = Reach(allow_loopback=True)


@dataclass(slots=True)
class Inside:
    """A service of the operator's own network."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)
    visits: int = 0
    answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one visitor."""
        self.visits += 1
        self.heard.append(await reader.read(65_536))
        writer.write(self.answer)
        writer.close()


@pytest.fixture
async def inside() -> AsyncIterator[Inside]:
    made = Inside()
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0)
    async with server:
        made.port = server.sockets[0].getsockname()[1]
        yield made


async def probed(
    address: str, reach: Reach, names: Resolver | None = None, protocol: Protocol = Protocol.HTTP
) -> EndpointHealth:
    lookups = Lookups(reach.policy) if names is None else Lookups(reach.policy, names)
    prober = HttpProber(SystemClock(), lookups)
    try:
        (found,) = await prober.probe([Endpoint(8888, protocol, address)], HealthPolicy())
        return found
    finally:
        await prober.aclose()


async def log_of(address: str, reach: Reach, names: Resolver | None = None) -> bytes:
    lookups = Lookups(reach.policy) if names is None else Lookups(reach.policy, names)
    reader = LogReader(SystemClock(), lookups)
    try:
        return b"".join([piece async for piece in await reader.open(address, LogWish())])
    finally:
        await reader.aclose()


@pytest.mark.parametrize("url", HOSTILE_URLS)
async def test_no_disguise_of_an_address_gets_a_probe_or_a_reader_inside(inside: Inside, url: str) -> None:
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0]
    address = f"{scheme}://{host}" if host.count(":") == 1 else f"{scheme}://{host}:{inside.port}"
    assert not (await probed(address, Reach())).is_healthy
    with pytest.raises(CloudRefusal):
        await log_of(f"{address}/logs", Reach())
    assert inside.visits == 0


@pytest.mark.parametrize("address", INSIDE)
@pytest.mark.parametrize("protocol", [Protocol.HTTP, Protocol.TCP])
async def test_a_name_that_leads_inside_is_not_asked(
    inside: Inside, address: str, protocol: Protocol
) -> None:
    scheme = "tcp" if protocol is Protocol.TCP else "http"
    url = f"{scheme}://gpu.example:{inside.port}"
    found = await probed(url, Reach(), name_server([address]), protocol)
    assert not found.is_healthy
    assert "leads inside" in str(found.message)
    assert inside.visits == 0


@pytest.mark.parametrize("address", INSIDE)
async def test_a_log_at_a_name_that_leads_inside_is_not_read(inside: Inside, address: str) -> None:
    with pytest.raises(CloudRefusal):
        await log_of(f"http://gpu.example:{inside.port}/logs", Reach(), name_server([address]))
    assert inside.visits == 0


async def test_a_name_server_that_changes_its_answer_is_asked_once_and_believed_once(inside: Inside) -> None:
    """What is checked is what is connected to: the second answer, which leads elsewhere, is never fetched."""
    rebinding = name_server(["127.0.0.1"], ["169.254.169.254"])
    url = f"http://gpu.example:{inside.port}"
    assert (await probed(url, LOOPBACK, rebinding)).is_healthy
    assert b"Host: gpu.example" in inside.heard[0]
    rebinding = name_server(["127.0.0.1"], ["169.254.169.254"])
    assert await log_of(url, LOOPBACK, rebinding) == b"ok"


async def test_one_address_inside_forbids_the_name(inside: Inside) -> None:
    url = f"http://gpu.example:{inside.port}"
    for mixed in ([PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]):
        assert not (await probed(url, Reach(), name_server(mixed))).is_healthy
    assert inside.visits == 0


async def test_the_next_address_is_tried_when_one_does_not_answer(inside: Inside) -> None:
    for protocol, scheme in ((Protocol.HTTP, "http"), (Protocol.TCP, "tcp")):
        url = f"{scheme}://gpu.example:{inside.port}"
        assert (await probed(url, LOOPBACK, name_server(["::1", "127.0.0.1"]), protocol)).is_healthy


@pytest.mark.parametrize("status", [b"301 Moved", b"302 Found", b"307 Temporary", b"308 Permanent"])
async def test_a_redirect_leads_nowhere(inside: Inside, status: bytes) -> None:
    inside.answer = b"HTTP/1.1 %s\r\nLocation: http://127.0.0.1:%d/x\r\nContent-Length: 0\r\n\r\n" % (
        status,
        inside.port,
    )
    await probed(f"http://127.0.0.1:{inside.port}", LOOPBACK)
    with pytest.raises(CloudRefusal):
        await log_of(f"http://127.0.0.1:{inside.port}/logs", LOOPBACK)
    assert inside.visits == 2


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "unix:///run/docker.sock", "http+unix://%2Frun%2Fdocker.sock", "gopher://x"],
)
async def test_other_schemes_are_not_spoken(address: str) -> None:
    assert not (await probed(address, Reach(allow_private=True))).is_healthy
    with pytest.raises(CloudRefusal):
        await log_of(address, Reach(allow_private=True))


@pytest.mark.parametrize(
    ("cloud", "reach"),
    [
        ("https://api.novita.ai", Reach()),
        ("http://127.0.0.1:3100", Reach(allow_private=False, allow_loopback=True)),
        ("http://localhost:3100/", Reach(allow_loopback=True)),
        ("http://[::1]:3100", Reach(allow_loopback=True)),
        ("http://10.0.0.7:3100", Reach(allow_private=True)),
        ("http://simulator:3100", Reach(allow_private=True)),
        ("http://host.docker.internal:3100", Reach(allow_private=True)),
        ("https://93.184.216.34", Reach()),
    ],
)
def test_the_clouds_addresses_lead_as_far_inside_as_the_cloud_itself_is(cloud: str, reach: Reach) -> None:
    assert reach_of_cloud(cloud) == reach
