"""Calling receivers: checked addresses, a bounded answer, a bounded time; over real sockets on loopback."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator

import pytest
from ssrfguard import Resolver

from ostler.clock import SystemClock
from ostler.cloud.reach import Reach
from ostler.notify.outbound import Outbound, OutboundConfig, Reply
from tests.support.hostile_addresses import INSIDE
from tests.support.name_server import name_server
from tests.support.receiver import Answer, Receiver, Script, receiving

LOOPBACK = Reach(allow_loopback=True)
PUBLIC = "93.184.216.34"


async def posted(
    url: str,
    reach: Reach = LOOPBACK,
    resolver: Resolver = socket.getaddrinfo,
    timeout_s: float = 5,
) -> Reply:
    outbound = Outbound(OutboundConfig(timeout_s, reach, "ostler/1"), SystemClock(), resolver)
    try:
        return await outbound.post(url, {"webhook-id": "msg_1"}, b'{"a":1}')
    finally:
        await outbound.aclose()


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with receiving() as receiver:
        yield receiver


def told_to(**answer: object) -> Script:
    made = Answer(**answer)  # type: ignore[arg-type]  # the fields of an answer
    return lambda _: made


async def test_a_taken_webhook_is_told_with_its_status_and_time(receiver: Receiver) -> None:
    reply = await posted(f"{receiver.url}?a=b%20c")
    assert (reply.status, reply.error, reply.is_delivered) == (200, None, True)
    assert reply.latency_ms >= 0
    (received,) = receiver.received
    assert (received.path, received.body) == ("/hook?a=b%20c", b'{"a":1}')
    assert received.headers["webhook-id"] == "msg_1"
    assert received.headers["user-agent"] == "ostler/1"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"


async def test_the_host_stays_the_name_though_the_connection_goes_to_the_checked_address(
    receiver: Receiver,
) -> None:
    reply = await posted(f"http://hooks.example:{receiver.port}/", resolver=name_server(["127.0.0.1"]))
    assert reply.is_delivered
    assert receiver.received[0].headers["host"] == f"hooks.example:{receiver.port}"


@pytest.mark.parametrize("address", INSIDE)
async def test_a_name_that_leads_inside_is_not_called(receiver: Receiver, address: str) -> None:
    reply = await posted(f"http://hooks.example:{receiver.port}/", Reach(), name_server([address]))
    assert reply.status is None
    assert reply.error is not None
    assert reply.error.startswith("refused: ")
    assert receiver.received == []


@pytest.mark.parametrize("addresses", [[PUBLIC, "127.0.0.1"], ["127.0.0.1", PUBLIC]])
async def test_one_forbidden_address_forbids_the_name(receiver: Receiver, addresses: list[str]) -> None:
    reply = await posted(f"http://hooks.example:{receiver.port}/", Reach(), name_server(addresses))
    assert reply.error is not None
    assert reply.error.startswith("refused: ")
    assert receiver.received == []


async def test_a_name_server_that_changes_its_answer_after_the_check_changes_nothing(
    receiver: Receiver,
) -> None:
    """The second answer would lead to a metadata service; it is never asked for."""
    rebinding = name_server(["127.0.0.1"], ["169.254.169.254"])
    outbound = Outbound(OutboundConfig(5, LOOPBACK), SystemClock(), rebinding)
    url = f"http://hooks.example:{receiver.port}/"
    first = await outbound.post(url, {}, b"{}")
    await outbound.aclose()
    assert first.is_delivered
    assert len(receiver.received) == 1


async def test_a_new_connection_is_checked_anew(receiver: Receiver) -> None:
    receiver.script = told_to(headers={"Connection": "close"})
    rebinding = name_server(["127.0.0.1"], ["10.0.0.1"])
    outbound = Outbound(OutboundConfig(5, LOOPBACK), SystemClock(), rebinding)
    url = f"http://hooks.example:{receiver.port}/"
    replies = [await outbound.post(url, {}, b"{}") for _ in range(2)]
    await outbound.aclose()
    assert [reply.is_delivered for reply in replies] == [True, False]
    assert len(receiver.received) == 1


async def test_the_next_address_is_tried_when_one_does_not_answer(receiver: Receiver) -> None:
    reply = await posted(f"http://hooks.example:{receiver.port}/", resolver=name_server(["::1", "127.0.0.1"]))
    assert reply.is_delivered


@pytest.mark.parametrize("form", ["2130706433", "0x7f000001", "127.1", "017700000001"])
async def test_disguised_addresses_are_seen_through(receiver: Receiver, form: str) -> None:
    reply = await posted(f"http://{form}:{receiver.port}/", Reach())
    assert not reply.is_delivered
    assert receiver.received == []


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_not_followed(receiver: Receiver, status: int) -> None:
    receiver.script = told_to(status=status, headers={"Location": f"{receiver.url}/elsewhere"})
    reply = await posted(receiver.url)
    assert reply.status == status
    assert reply.error is not None
    assert len(receiver.received) == 1


@pytest.mark.parametrize(
    ("status", "is_delivered"), [(200, True), (204, True), (299, True), (400, False), (500, False)]
)
async def test_only_success_counts_as_taken(receiver: Receiver, status: int, *, is_delivered: bool) -> None:
    receiver.script = told_to(status=status)
    assert (await posted(receiver.url)).is_delivered is is_delivered


async def test_the_wait_that_a_receiver_asks_for_is_told(receiver: Receiver) -> None:
    receiver.script = told_to(status=429, headers={"Retry-After": "77"})
    assert (await posted(receiver.url)).retry_after_s == 77


async def test_a_silent_receiver_is_left_after_the_time_allowed(receiver: Receiver) -> None:
    receiver.script = told_to(before=asyncio.Event().wait)
    reply = await posted(receiver.url, timeout_s=0.2)
    assert (reply.status, reply.error) == (None, "no answer within 0.2 s")
    assert reply.latency_ms >= 190


async def test_an_answer_that_never_ends_its_body_counts_by_its_status(receiver: Receiver) -> None:
    receiver.script = told_to(stalls=True)
    reply = await posted(receiver.url, timeout_s=0.2)
    assert (reply.status, reply.error) == (200, None)


async def test_of_a_huge_answer_little_is_read(receiver: Receiver) -> None:
    receiver.script = told_to(floods=True)
    assert (await posted(receiver.url)).is_delivered
    assert (
        receiver.flooded < 16 * 1024 * 1024
    )  # what the sockets' buffers take; without a limit it never ends


async def test_a_cut_connection_is_a_failed_attempt(receiver: Receiver) -> None:
    receiver.script = told_to(resets=True)
    reply = await posted(receiver.url)
    assert reply.status is None
    assert reply.error


async def test_nobody_listening_is_a_failed_attempt(receiver: Receiver) -> None:
    url = receiver.url
    await receiver.close()
    reply = await posted(url)
    assert reply.error is not None
    assert reply.error.startswith("no connection")


async def test_a_name_that_does_not_exist_is_a_failed_attempt() -> None:
    def nowhere(*_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    reply = await posted("http://nowhere.example/", resolver=nowhere)
    assert reply.error == "the name cannot be resolved: Name or service not known"


@pytest.mark.parametrize(
    "url", ["", "not a url", "ftp://a.example/", "http://", "http://[::1", "http://a.example:x/"]
)
async def test_what_is_no_url_is_a_failed_attempt(url: str) -> None:
    reply = await posted(url, resolver=name_server(["127.0.0.1"]))
    assert reply.status is None
    assert reply.error


async def test_a_stalling_name_server_costs_an_attempt_and_holds_up_nobody_else(receiver: Receiver) -> None:
    release = threading.Event()

    def look_up(host: str, port: int, *_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if host == "stalling.example":
            release.wait(10)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    outbound = Outbound(OutboundConfig(0.3, LOOPBACK), SystemClock(), look_up)
    stalled, well = await asyncio.gather(
        outbound.post(f"http://stalling.example:{receiver.port}/", {}, b"{}"),
        outbound.post(f"http://well.example:{receiver.port}/", {}, b"{}"),
    )
    release.set()
    await outbound.aclose()
    assert stalled.error == "no answer within 0.3 s"
    assert well.is_delivered


async def test_look_ups_leave_their_place_to_others(receiver: Receiver) -> None:
    receiver.script = told_to(headers={"Connection": "close"})
    outbound = Outbound(OutboundConfig(5, LOOPBACK), SystemClock())
    replies = [await outbound.post(receiver.url, {}, b"{}") for _ in range(12)]
    await outbound.aclose()
    assert all(reply.is_delivered for reply in replies)


async def test_credentials_in_the_url_go_into_a_header(receiver: Receiver) -> None:
    await posted(f"http://us%40er:pa%3Ass@127.0.0.1:{receiver.port}/hook")
    (received,) = receiver.received
    assert received.headers["authorization"] == "Basic dXNAZXI6cGE6c3M="
    assert received.path == "/hook"


async def test_the_environments_proxy_is_not_used(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert (await posted(receiver.url)).is_delivered
