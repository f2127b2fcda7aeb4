"""The doors of the simulated instances: what their applications, shells and logs answer on loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator

import httpx2
import pytest

from ostler.simulator.status import CONNECTED, Status
from tests.support.simulator import a_simulated_instance
from tests.support.simulator_visitor import V1, Visitor, visiting


@pytest.fixture
async def visitor() -> AsyncIterator[Visitor]:
    async with visiting() as guest:
        yield guest


async def test_an_application_answers_at_its_endpoint_and_below(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    endpoint = await visitor.endpoint(instance.id)

    for path in ("", "/", "/health", "/v1/models?x=1"):
        response = await visitor.client.get(endpoint + path)
        assert (response.status_code, response.text) == (200, "ok")


async def test_the_gateway_answers_502_until_the_application_listens(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    await visitor.control(f"/app/{instance.id}", readyAfterSeconds=20, body="hello", status=203)
    endpoint = await visitor.endpoint(instance.id)

    before = await visitor.client.get(endpoint)
    await visitor.control("/clock", advance=20)
    after = await visitor.client.get(endpoint)

    assert (before.status_code, "502 Bad Gateway" in before.text) == (502, True)
    assert (after.status_code, after.text) == (203, "hello")


async def test_it_may_never_listen_or_show_a_broken_gateway_with_200(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    endpoint = await visitor.endpoint(instance.id)
    await visitor.control(f"/app/{instance.id}", mood="never")
    never = await visitor.client.get(endpoint)
    await visitor.control(f"/app/{instance.id}", mood="errorBody")
    error_body = await visitor.client.get(endpoint)

    assert never.status_code == 502
    assert (error_body.status_code, "Bad Gateway" in error_body.text) == (200, True)


@pytest.mark.parametrize("told", [{"delaySeconds": 5}, {}])
async def test_it_may_be_slower_than_a_client_waits(visitor: Visitor, told: dict[str, object]) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    await visitor.control("/app/demo", mood="slow", **told)
    endpoint = await visitor.endpoint(instance.id)

    with pytest.raises(httpx2.ReadTimeout):
        await visitor.client.get(endpoint, timeout=0.2)


@pytest.mark.parametrize(
    ("mood", "error"),
    [
        ("reset", httpx2.ReadError),
        ("refused", httpx2.ConnectError),
        ("tlsFailure", httpx2.ConnectError),
    ],
)
async def test_it_may_fail_beneath_http(visitor: Visitor, mood: str, error: type[Exception]) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    await visitor.control(f"/app/{instance.id}", mood=mood)
    endpoint = await visitor.endpoint(instance.id)

    with pytest.raises(error) as failure:
        await visitor.client.get(endpoint)

    assert ("SSL" in str(failure.value)) == (mood == "tlsFailure")


async def test_the_script_of_all_is_also_that_of_those_to_come(visitor: Visitor) -> None:
    old = a_simulated_instance(visitor.simulated.world)
    await visitor.control("/app/*", mood="never")
    new = a_simulated_instance(visitor.simulated.world)

    for instance in (old, new):
        assert (await visitor.client.get(await visitor.endpoint(instance.id))).status_code == 502


async def test_a_tcp_port_accepts_and_says_that_it_is_a_shell(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    host, port = (await visitor.endpoint(instance.id, 1)).split(":")

    reader, writer = await asyncio.open_connection(host, int(port))
    banner = await reader.readline()
    writer.close()
    body = (await visitor.client.get(f"{V1}/gpu/instance", params={"instanceId": instance.id})).json()

    assert banner.startswith(b"SSH-2.0")
    assert body["connectComponentSSH"]["sshCommand"] == f"ssh -p {port} root@{host}"


async def test_a_tcp_port_of_nobody_refuses(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    await visitor.control(f"/app/{instance.id}", mood="never")
    host, port = (await visitor.endpoint(instance.id, 1)).split(":")

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((host, int(port)), timeout=2)


async def test_a_port_that_is_not_exposed_and_an_instance_that_is_not_there(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    endpoint = await visitor.endpoint(instance.id)

    other_port = await visitor.client.get(endpoint.replace("/8080", "/9999"))
    nobody = await visitor.client.get(endpoint.replace(instance.id, "0" * 16))

    assert (other_port.status_code, nobody.status_code) == (502, 404)


async def test_logs_and_the_terminal_are_pages(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    body = (await visitor.client.get(f"{V1}/gpu/instance", params={"instanceId": instance.id})).json()

    log = await visitor.client.get(body["connectComponentLog"]["instanceLogAddress"])
    tail = await visitor.client.get(body["connectComponentLog"]["systemLogAddress"] + "?tail=1")
    terminal = await visitor.client.get(body["connectComponentWebTerminal"]["address"])

    assert "application listens" in log.text
    assert tail.text.count("\n") == 1
    assert terminal.status_code == 200


async def test_v2_leads_to_the_same_pages(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    tools = (await visitor.client.get(f"/gpus/v2/instances/{instance.id}")).json()["tools"]
    pages = [*tools["log"].values(), tools["web_terminal"]["endpoint"]]

    assert [(await visitor.client.get(page)).status_code for page in pages] == [200, 200, 200]


async def test_the_gateway_answers_for_whoever_does_not_run(visitor: Visitor) -> None:
    endpoint = await visitor.endpoint(a_simulated_instance(visitor.simulated.world).id)
    statuses = set(Status) - CONNECTED - {Status.REMOVED}
    asleep = [a_simulated_instance(visitor.simulated.world, status) for status in statuses]

    seen = [await visitor.client.get(f"{endpoint.rpartition('/i/')[0]}/i/{each.id}/8080") for each in asleep]

    assert {answer.status_code for answer in seen} == {502}


async def test_the_doors_know_the_time_though_nobody_calls_the_api(visitor: Visitor) -> None:
    instance = a_simulated_instance(visitor.simulated.world)
    endpoint = await visitor.endpoint(instance.id)
    await visitor.client.post(f"{V1}/gpu/instance/stop", json={"instanceId": instance.id})

    visitor.simulated.cloud.clock.advance(60)
    stopped = await visitor.client.get(endpoint)
    assert (stopped.status_code, instance.status) == (502, Status.EXITED)

    await visitor.client.post(f"{V1}/gpu/instance/delete", json={"instanceId": instance.id})
    visitor.simulated.cloud.clock.advance(60)
    assert (await visitor.client.get(endpoint)).status_code == 404
