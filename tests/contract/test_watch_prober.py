"""The prober over real sockets: what instances of the simulator answer, and what worse servers do.

Every category of error is produced for real.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta

import pytest

from ostler.clock import SystemClock
from ostler.cloud.lookups import Lookups
from ostler.cloud.reach import Reach
from ostler.cloud.upstream import Endpoint
from ostler.domain.catalogue import Protocol
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.readiness import EndpointHealth, ErrorCategory
from ostler.simulator.app import AppMood, AppScript
from ostler.watch.prober import HttpProber
from tests.support.provider import USER, Setting, a_setting

INSIDE = Lookups(Reach(allow_loopback=True).policy)
QUICK = HealthPolicy(timeout=timedelta(seconds=1))
Play = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture
async def prober() -> AsyncIterator[HttpProber]:
    prober = HttpProber(SystemClock(), INSIDE)
    yield prober
    await prober.aclose()


@pytest.fixture
async def setting() -> AsyncIterator[Setting]:
    async with a_setting(is_over_http=True) as setting:
        yield setting


async def endpoints_of(setting: Setting, script: AppScript) -> list[Endpoint]:
    """Return the endpoints of an instance that runs this application."""
    upstream_id = await setting.running()
    setting.simulated.set_app(upstream_id, script)
    return list((await setting.cloud.get(upstream_id, lane=USER)).endpoints)


async def probed(prober: HttpProber, setting: Setting, script: AppScript) -> EndpointHealth:
    endpoints = await endpoints_of(setting, script)
    found = await prober.probe(endpoints, QUICK)
    return next(each for each in found if each.endpoint.startswith("http"))


async def test_an_application_that_answers_is_healthy(prober: HttpProber, setting: Setting) -> None:
    found = await probed(prober, setting, AppScript())
    assert found.is_healthy
    assert found.status_code == 200
    assert found.error_category is None


@pytest.mark.parametrize(
    ("script", "category", "status"),
    [
        (AppScript(AppMood.NEVER), ErrorCategory.BAD_STATUS, 502),
        (AppScript(status=500), ErrorCategory.BAD_STATUS, 500),
        (AppScript(ready_after_s=1e9), ErrorCategory.BAD_STATUS, 502),
        (AppScript(AppMood.ERROR_BODY), ErrorCategory.ERROR_BODY, 200),
        (AppScript(AppMood.SLOW, delay_s=30), ErrorCategory.TIMEOUT, None),
        (AppScript(AppMood.REFUSED), ErrorCategory.CONNECTION_REFUSED, None),
        (AppScript(AppMood.RESET), ErrorCategory.CONNECTION_RESET, None),
        (AppScript(AppMood.TLS_FAILURE), ErrorCategory.SSL, None),
    ],
    ids=lambda value: value.mood.value if isinstance(value, AppScript) else "",
)
async def test_an_application_in_trouble_has_its_category(
    prober: HttpProber, setting: Setting, script: AppScript, category: ErrorCategory, status: int | None
) -> None:
    found = await probed(prober, setting, script)
    assert not found.is_healthy
    assert found.error_category is category, found.message
    assert found.status_code == status
    assert found.message


@asynccontextmanager
async def served(play: Play) -> AsyncIterator[str]:
    """Serve a connection in any odd way; yields host:port."""

    serving: set[asyncio.Task[None] | None] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        try:
            await play(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # whoever probes has gone
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    try:
        yield f"{host}:{port}"
    finally:
        server.close()
        for task in serving:
            assert task is not None
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await server.wait_closed()


def answering(answer: bytes) -> Play:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()

    return play


def http(address: str) -> Endpoint:
    return Endpoint(8080, Protocol.HTTP, f"http://{address}")


def ok(body: bytes, more: str = "") -> bytes:
    return f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode() + body


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        (b"", ErrorCategory.CONNECTION_RESET),
        (b"SSH-2.0-OpenSSH_9.6\r\n\r\n", ErrorCategory.INVALID_RESPONSE),
        (b"HTTP/1.1 banana\r\n\r\n", ErrorCategory.INVALID_RESPONSE),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\nhalf", ErrorCategory.INVALID_RESPONSE),
        (ok(b"no gzip", "content-encoding: gzip\r\n"), ErrorCategory.INVALID_RESPONSE),
        (ok(b"x" * 60_000 + b"Bad Gateway"), ErrorCategory.ERROR_BODY),
    ],
    ids=["hangs up", "another protocol", "no status", "cut short", "no gzip", "late error page"],
)
async def test_what_cannot_be_read_has_its_category(
    prober: HttpProber, answer: bytes, category: ErrorCategory
) -> None:
    async with served(answering(answer)) as address:
        (found,) = await prober.probe([http(address)], QUICK)
    assert found.error_category is category, found.message


async def test_of_a_body_without_end_only_what_counts_is_read(prober: HttpProber) -> None:
    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b"x" * 16_384)
            await writer.drain()

    async with served(play) as address:
        (found,) = await prober.probe([http(address)], QUICK)
    assert found.is_healthy


async def test_the_limit_holds_for_the_whole_answer(prober: HttpProber) -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await SystemClock().sleep(0.1)

    async with served(drip) as address:
        (found,) = await prober.probe([http(address)], HealthPolicy(timeout=timedelta(seconds=0.4)))
    assert found.error_category is ErrorCategory.TIMEOUT
    assert found.response_time_ms < 900


async def test_a_redirect_is_an_answer_and_is_not_followed(prober: HttpProber) -> None:
    answer = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
    async with served(answering(answer)) as address:
        (found,) = await prober.probe([http(address)], QUICK)
        expecting = HealthPolicy(timeout=QUICK.timeout, expect_status=frozenset({200}))
        (narrowed,) = await prober.probe([http(address)], expecting)
    assert found.is_healthy
    assert narrowed.error_category is ErrorCategory.BAD_STATUS


async def test_the_path_of_the_policy_is_asked_for(prober: HttpProber) -> None:
    asked: list[bytes] = []

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")[0])
        writer.write(ok(b"fine"))
        await writer.drain()

    async with served(play) as address:
        endpoint = Endpoint(8080, Protocol.HTTP, f"http://{address}/i/x/8080")
        await prober.probe([endpoint], HealthPolicy(path="/health?deep=1", timeout=QUICK.timeout))
    assert asked == [b"GET /i/x/8080/health?deep=1 HTTP/1.1"]


async def test_a_name_that_nobody_knows_is_a_matter_of_dns(prober: HttpProber) -> None:
    endpoints = [
        Endpoint(8080, Protocol.HTTP, "http://nobody.invalid"),
        Endpoint(22, Protocol.TCP, "nobody.invalid:22"),
    ]
    found = await prober.probe(endpoints, HealthPolicy(timeout=timedelta(seconds=10)))
    assert [each.error_category for each in found] == [ErrorCategory.DNS] * 2


async def test_tls_that_nobody_trusts_is_a_matter_of_tls(prober: HttpProber) -> None:
    async with served(answering(b"plain text")) as address:
        (found,) = await prober.probe([Endpoint(443, Protocol.HTTP, f"https://{address}")], QUICK)
    assert found.error_category in {ErrorCategory.SSL, ErrorCategory.TIMEOUT}


async def test_a_tcp_port_is_healthy_when_it_accepts(prober: HttpProber, setting: Setting) -> None:
    endpoints = await endpoints_of(setting, AppScript())
    assert {each.protocol for each in endpoints} == {Protocol.HTTP}
    async with served(answering(b"")) as address:
        (found,) = await prober.probe([Endpoint(22, Protocol.TCP, address)], QUICK)
    (refused,) = await prober.probe([Endpoint(22, Protocol.TCP, address)], QUICK)
    assert found.is_healthy
    assert refused.error_category is ErrorCategory.CONNECTION_REFUSED


@pytest.mark.parametrize("address", ["", "no address", "http://", "http://127.0.0.1:99999"])
async def test_an_address_that_is_none_is_no_answer(prober: HttpProber, address: str) -> None:
    endpoints = [Endpoint(1, Protocol.HTTP, address), Endpoint(2, Protocol.TCP, address)]
    found = await prober.probe(endpoints, QUICK)
    assert not any(each.is_healthy for each in found)


async def test_endpoints_are_asked_side_by_side_and_answered_in_order(prober: HttpProber) -> None:
    meeting = asyncio.Barrier(3)

    async def together(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await meeting.wait()
        writer.write(ok(b"here"))
        await writer.drain()

    async with served(together) as address:
        endpoints = [Endpoint(port, Protocol.HTTP, f"http://{address}") for port in (3, 1, 2)]
        found = await prober.probe(endpoints, HealthPolicy(timeout=timedelta(seconds=10)))
    assert [each.port for each in found] == [3, 1, 2]
    assert all(each.is_healthy for each in found)


async def test_an_unusual_trust_can_be_given() -> None:
    context = ssl.create_default_context()
    prober = HttpProber(SystemClock(), INSIDE, context)
    async with served(answering(ok(b"fine"))) as address:
        (found,) = await prober.probe([http(address)], QUICK)
    await prober.aclose()
    assert found.is_healthy
