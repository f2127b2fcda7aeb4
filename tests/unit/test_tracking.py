"""The application around its routes: what nobody expected stays inside, what nobody allowed is closed."""

from collections.abc import AsyncIterator

import httpx2
import pytest
from fastapi import APIRouter

from ostler.api.app import Layers, application
from ostler.api.permissions import VIEWER
from ostler.telemetry.metrics import Metrics
from tests.support.cloud import HandClock
from tests.support.gates import KEY, a_porch

router = APIRouter()


@router.get("/forgotten")
async def forgotten() -> str:
    return "canary"


@router.get("/broken")
async def broken() -> None:
    secret = "canary-in-an-error"  # must not reach the caller
    raise RuntimeError(secret)


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    clock = HandClock()
    porch = a_porch(clock)
    rows = {"GET /broken": VIEWER}
    layers = Layers(porch.gate, porch.journal, clock, Metrics("test"), permissions=rows)
    app = application([router], layers)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app),
        base_url="http://127.0.0.1",
        headers={"Authorization": f"Bearer {KEY}"},
    ) as opened:
        yield opened


async def test_an_unknown_error_is_a_500_that_names_the_request_and_nothing_else(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.get("/broken", headers={"X-Request-Id": "req-7"})
    assert answer.status_code == 500
    error = answer.json()["error"]
    assert (error["code"], error["requestId"]) == ("INTERNAL_ERROR", "req-7")
    assert "req-7" in error["hint"]
    assert "canary" not in answer.text
    assert "Traceback" not in answer.text


async def test_every_answer_carries_its_ids_and_the_guards_of_a_browser(client: httpx2.AsyncClient) -> None:
    for path in ("/broken", "/nothing"):
        answer = await client.get(path)
        assert answer.headers["x-request-id"] == answer.headers["x-correlation-id"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"


async def test_a_route_without_a_row_in_the_table_of_permissions_is_closed_to_everybody(
    client: httpx2.AsyncClient,
) -> None:
    answer = await client.get("/forgotten")  # with the administrator's key
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "FORBIDDEN")
    assert "canary" not in answer.text
