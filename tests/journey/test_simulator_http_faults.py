"""Every fault of the simulator over real HTTP, as a client meets it."""

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.support.simulator_visitor import CREATE, ORDER, V1, Visitor, visiting


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    async with visiting() as guest:
        yield guest


@pytest.mark.parametrize(("fault", "made"), [("resetBefore", 0), ("resetAfter", 1)])
async def test_a_reset_is_a_real_one(visitor: Visitor, fault: str, made: int) -> None:
    await visitor.control("/faults", fault=fault, route="POST *create")
    host, port = urlsplit(str(visitor.client.base_url)).netloc.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    body = httpx2.Request("POST", "http://x", json=ORDER).read()
    writer.write(
        f"POST {CREATE} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )

    with pytest.raises(ConnectionResetError):
        await reader.read()

    writer.close()
    assert visitor.made() == made


async def test_a_reset_is_a_read_error_to_an_http_client(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="resetAfter", route="POST *create")

    with pytest.raises(httpx2.ReadError):
        await visitor.create()

    assert visitor.made() == 1


@pytest.mark.parametrize(("fault", "made"), [("timeoutBefore", 0), ("timeoutAfter", 1)])
async def test_no_answer_comes_until_the_client_gives_up(visitor: Visitor, fault: str, made: int) -> None:
    await visitor.control("/faults", fault=fault, route="POST *create")

    with pytest.raises(httpx2.ReadTimeout):
        await visitor.client.post(CREATE, json=ORDER, timeout=0.2)

    assert visitor.made() == made


@pytest.mark.parametrize("status", [500, 502, 503, 504])
@pytest.mark.parametrize("after", [False, True])
async def test_an_error_page_before_or_after_the_effect(
    visitor: Visitor,
    status: int,
    after: bool,  # noqa: FBT001 -- a column of the table
) -> None:
    await visitor.control("/faults", fault="status", status=status, after=after, route="POST *create")

    response = await visitor.create()

    assert response.status_code == status
    assert visitor.made() == int(after)
    assert response.headers["content-type"].startswith("application/json" if status == 500 else "text/html")


async def test_a_rate_limit_says_when_to_come_back(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="rateLimit", retryAfter=11, times=2)

    answers = [await visitor.create() for _ in range(3)]

    assert [answer.status_code for answer in answers] == [429, 429, 200]
    assert answers[0].headers["retry-after"] == "11"
    assert answers[0].json()["reason"] == "RATE_LIMIT_EXCEEDED"


@pytest.mark.parametrize("status", [400, 502])
@pytest.mark.parametrize("body", ["envelope", "message", "error", "empty"])
async def test_an_error_has_the_form_that_was_asked_for(visitor: Visitor, status: int, body: str) -> None:
    await visitor.control("/faults", fault="status", status=status, message="trouble", body=body)

    response = await visitor.create()

    said = response.json() if body != "empty" else {"empty": response.text or "trouble"}
    assert response.status_code == status
    assert said["message" if body == "envelope" else body] == "trouble"
    assert ("reason" in said) is (body == "envelope")


async def test_half_an_answer(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="malformedJson", route="POST *create")

    response = await visitor.create()

    assert response.status_code == 200
    with pytest.raises(ValueError, match=r"unexpected|Expecting|Unterminated"):
        response.json()
    assert visitor.made() == 1


async def test_no_capacity_and_any_other_refusal(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="noCapacity")
    first = await visitor.create()
    await visitor.control(
        "/faults", fault="refusal", status=400, reason="CONFLICT", message="try another name"
    )
    second = await visitor.create()

    assert first.json()["reason"] == "INSUFFICIENT_RESOURCE"
    assert (second.json()["reason"], second.json()["message"]) == ("CONFLICT", "try another name")
    assert visitor.made() == 0


async def test_an_effect_that_lists_show_later(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="lateInLists", seconds=30, route="POST *create")
    await visitor.create()
    early = await visitor.client.get(f"{V1}/gpu/instances")
    await visitor.control("/clock", advance=30)
    late = await visitor.client.get(f"{V1}/gpu/instances")

    assert (early.json()["total"], late.json()["total"]) == (0, 1)


async def test_latency_delays_and_others_go_on(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="latency", seconds=0.3, route="POST *create")
    slow_one = asyncio.create_task(visitor.create())
    quick_one = await visitor.client.get(f"{V1}/clusters")

    assert quick_one.status_code == 200
    assert not slow_one.done()
    assert (await slow_one).status_code == 200


async def test_faults_are_listed_and_taken_back(visitor: Visitor) -> None:
    first = (await visitor.control("/faults", fault="rateLimit")).json()["id"]
    await visitor.control("/faults", fault="rateLimit", share=0.5, seed=3)
    listed = (await visitor.client.get("/_sim/faults")).json()["faults"]
    await visitor.client.delete(f"/_sim/faults/{first}")
    again = await visitor.client.delete(f"/_sim/faults/{first}")
    left = (await visitor.client.get("/_sim/faults")).json()["faults"]
    await visitor.client.delete("/_sim/faults")

    assert [(fault["times"], fault["share"]) for fault in listed] == [(1, 1.0), (None, 0.5)]
    assert len(left) == 1
    assert (again.status_code, again.json()["reason"]) == (400, "BAD_CONTROL")
    assert f"no fault {first} is waiting" in again.json()["message"]
    assert (await visitor.create()).status_code == 200


async def test_a_share_strikes_the_same_calls_under_the_same_seed(visitor: Visitor) -> None:
    runs = []
    for _ in range(2):
        await visitor.control("/faults", fault="rateLimit", share=0.5, seed=3)
        runs.append([(await visitor.client.get(f"{V1}/clusters")).status_code for _ in range(24)])
        await visitor.client.delete("/_sim/faults")

    assert runs[0] == runs[1]
    assert set(runs[0]) == {200, 429}


async def test_a_share_of_one_strikes_every_call_until_it_is_taken_back(visitor: Visitor) -> None:
    await visitor.control("/faults", fault="rateLimit", share=1)
    struck = [(await visitor.create()).status_code for _ in range(3)]
    await visitor.client.delete("/_sim/faults")

    assert struck == [429, 429, 429]
    assert (await visitor.create()).status_code == 200
