"""The simulated cloud as values: keys, envelopes, faults without a socket, counts, clock, state file."""

import httpx2
import pytest

from ostler.simulator.clock import WorldClock
from ostler.simulator.faults import Fault
from ostler.simulator.keys import KEYS, Key, Verdict
from ostler.simulator.server import create_app
from ostler.simulator.world import INSTANCES
from tests.support.simulator import (
    EPOCH,
    SimulatedCloud,
    a_simulated_instance,
    late_in_lists,
    malformed_answer,
    no_capacity,
    rate_limited,
    refused,
    reset_after_effect,
    reset_before_effect,
    server_error,
    slow,
    timeout_after_effect,
    timeout_before_effect,
)

LIST = "/gpu-instance/openapi/v1/gpu/instances"
CREATE_PATH = "/gpu-instance/openapi/v1/gpu/instance/create"
AUTH = {"Authorization": "Bearer sk_any"}
ORDER = {
    "name": "demo",
    "productId": "4090.16c62g",
    "gpuNum": 1,
    "rootfsSize": 60,
    "imageUrl": "novitalabs/ubuntu:22.04",
    "kind": "gpu",
}


async def send(
    simulated: SimulatedCloud, method: str, path: str, authorization: str = "Bearer sk_any"
) -> httpx2.Response:
    async with simulated.client() as client:
        return await client.request(method, path, headers={"Authorization": authorization})


async def create(simulated: SimulatedCloud) -> httpx2.Response:
    async with simulated.client(timeout_s=0.05) as client:
        return await client.post(CREATE_PATH, json=ORDER)


class TestKeys:
    @pytest.mark.parametrize("authorization", ["", "Bearer", "Bearer  ", "Basic abc", "sk_any"])
    async def test_a_call_without_a_bearer_key_is_a_401_envelope(self, authorization: str) -> None:
        response = await send(SimulatedCloud(), "GET", LIST, authorization)

        assert response.status_code == 401
        assert response.json() == {
            "code": 401,
            "reason": "UNAUTHORIZED",
            "message": "unauthorized: missing or invalid API key",
            "metadata": {},
        }

    async def test_any_key_opens_the_default_account_and_a_mapped_one_its_own(self) -> None:
        simulated = SimulatedCloud()
        a_simulated_instance(simulated.world)
        for key in (
            Key("sk_other", account="somebody"),
            Key("sk_dead", Verdict.INVALID),
            Key("sk_banned", Verdict.FORBIDDEN),
        ):
            simulated.world.put(KEYS, key.key, key)

        answers = {
            key: await send(simulated, "GET", LIST, f"Bearer {key}")
            for key in ("sk_any", "sk_other", "sk_dead", "sk_banned")
        }

        assert answers["sk_any"].json()["total"] == 1
        assert answers["sk_other"].json()["total"] == 0
        assert answers["sk_dead"].status_code == 401
        assert (answers["sk_banned"].status_code, answers["sk_banned"].json()["reason"]) == (
            403,
            "INVALID_API_KEY",
        )


class TestEnvelopes:
    @pytest.mark.parametrize(
        ("method", "path"),
        [("GET", "/nope"), ("DELETE", LIST), ("GET", CREATE_PATH), ("POST", f"{LIST}/"), ("GET", "/")],
    )
    async def test_an_unknown_path_or_method_is_api_not_found(self, method: str, path: str) -> None:
        response = await send(SimulatedCloud(), method, path)

        assert (response.status_code, response.json()["reason"]) == (404, "API_NOT_FOUND")
        assert response.json()["metadata"] == {}

    @pytest.mark.parametrize("body", [b"{", b"[]", b'"text"', b"\xff"])
    async def test_a_body_that_is_no_json_object_is_a_400_envelope(self, body: bytes) -> None:
        async with SimulatedCloud().client() as client:
            response = await client.post(CREATE_PATH, content=body)

        assert (response.status_code, response.json()["reason"]) == (400, "INVALID_REQUEST_BODY")


class TestTheAppInProcess:
    async def test_the_same_app_answers_without_a_socket(self) -> None:
        app = create_app(SimulatedCloud().cloud)
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://cloud.test", headers=AUTH
        ) as client:
            created = await client.post(CREATE_PATH, json=ORDER)
            await client.post("/_sim/clock", json={"advance": 60})
            listed = (await client.get(LIST, params={"name": "demo", "status": "running"})).json()

        assert created.status_code == 200
        assert [row["id"] for row in listed["instances"]] == [created.json()["id"]]

    async def test_without_a_socket_a_reset_is_the_error_itself(self) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(reset_after_effect())
        transport = httpx2.ASGITransport(create_app(simulated.cloud))
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://cloud.test", headers=AUTH
        ) as client:
            with pytest.raises(ConnectionResetError):
                await client.post(CREATE_PATH, json=ORDER)

        assert len(simulated.instances_named("demo")) == 1


class TestFaultsWithoutASocket:
    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            (timeout_after_effect(), httpx2.ReadTimeout),
            (reset_after_effect(), httpx2.ReadError),
            (timeout_before_effect(), httpx2.ReadTimeout),
            (reset_before_effect(), httpx2.ReadError),
        ],
    )
    async def test_a_client_sees_no_answer_and_the_world_knows_whether_it_happened(
        self, fault: Fault, error: type[Exception]
    ) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(fault)

        with pytest.raises(error):
            await create(simulated)

        happened = fault in (timeout_after_effect(), reset_after_effect())
        assert len(simulated.instances_named("demo")) == int(happened)

    async def test_the_next_create_is_spoiled_and_the_one_after_is_not(self) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(no_capacity())

        first, second = await create(simulated), await create(simulated)

        assert (first.status_code, first.json()["reason"]) == (400, "INSUFFICIENT_RESOURCE")
        assert second.status_code == 200
        assert len(simulated.instances_named("demo")) == 1

    async def test_error_pages_before_and_after_the_effect(self) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(server_error(502))
        before = await create(simulated)
        simulated.next_create(server_error(504, after_effect=True))
        after = await create(simulated)
        simulated.next_create(refused("INVALID_STATE_CHANGE", after_effect=True))
        trick = await create(simulated)

        assert (before.status_code, after.status_code) == (502, 504)
        assert trick.json()["message"] == "invalid state change"
        assert len(simulated.instances_named("demo")) == 2

    async def test_a_rate_limit_and_half_an_answer(self) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(rate_limited(retry_after=3))
        limited = await create(simulated)
        simulated.next_create(malformed_answer())
        cut = await create(simulated)

        assert (limited.status_code, limited.headers["retry-after"]) == (429, "3")
        with pytest.raises(ValueError, match=r"unexpected|Expecting|Unterminated"):
            cut.json()
        assert len(simulated.instances_named("demo")) == 1

    async def test_a_late_listing_strikes_only_the_call_that_it_was_asked_for(self) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(late_in_lists(20))
        await create(simulated)
        await create(simulated)

        early = (await send(simulated, "GET", LIST)).json()
        simulated.advance(20)
        late = (await send(simulated, "GET", LIST)).json()

        assert (early["total"], late["total"]) == (1, 2)

    @pytest.mark.looptime
    async def test_a_slow_answer_is_the_right_one(self) -> None:
        simulated = SimulatedCloud()
        simulated.next_create(slow(40))
        simulated.next_create(timeout_after_effect())

        with pytest.raises(httpx2.ReadTimeout):
            await create(simulated)

        assert simulated.cloud.calls.log[-1].answer == "none"
        assert simulated.cloud.faults.all() == []

    async def test_a_share_of_calls_until_all_is_well(self) -> None:
        simulated = SimulatedCloud()
        simulated.share_of_calls("GET *", server_error(500), 0.5)

        answers = [(await send(simulated, "GET", LIST)).status_code for _ in range(40)]
        simulated.all_is_well()
        after = [(await send(simulated, "GET", LIST)).status_code for _ in range(10)]

        assert set(answers) == {200, 500}
        assert set(after) == {200}


async def test_calls_are_counted_by_route_answer_and_order() -> None:
    simulated = SimulatedCloud()
    simulated.next_create(no_capacity())
    await create(simulated)
    await create(simulated)
    await send(simulated, "GET", "/any/path/at/all")

    calls = simulated.cloud.calls
    assert simulated.calls_of(f"POST {CREATE_PATH}") == 2
    assert calls.by_answer[f"POST {CREATE_PATH}"] == {"400": 1, "200": 1}
    assert (calls.total, calls.in_flight, calls.max_in_flight) == (3, 0, 1)
    assert [record.route for record in calls.log][-1] == "unknown path"


def test_the_clock_runs_at_its_speed_stands_still_and_is_cranked() -> None:
    real = [100.0]
    clock = WorldClock(lambda: real[0], start=EPOCH, speed=60)
    real[0] = 101.0
    assert clock.time() == EPOCH + 60

    clock.set_speed(0)
    real[0] = 200.0
    assert clock.time() == EPOCH + 60
    clock.advance(5)
    clock.set_speed(1)
    real[0] = 201.0

    assert clock.time() == EPOCH + 66


def test_a_new_beginning_keeps_nothing_but_the_clock() -> None:
    simulated = SimulatedCloud()
    a_simulated_instance(simulated.world)
    simulated.next_create(no_capacity())
    simulated.advance(100)

    simulated.cloud.reset()

    assert simulated.world.rows(INSTANCES) == {}
    assert simulated.world.ledger == {}
    assert simulated.cloud.faults.all() == []
    assert simulated.world.now == simulated.cloud.clock.time() == EPOCH + 100
    assert simulated.world.shelves
