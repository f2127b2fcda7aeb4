"""A simulator that is killed comes back as the cloud it was, and nothing that it answered is forgotten."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import httpx2

from tests.support.disks import no_file_may_grow
from tests.support.simulator import spawned_simulator

V1 = "/gpu-instance/openapi/v1"
ORDER = {
    "productId": "4090.16c62g",
    "gpuNum": 1,
    "rootfsSize": 60,
    "imageUrl": "novitalabs/ubuntu:22.04",
    "kind": "gpu",
    "clusterId": "us-ca-6",
}


def a_client(address: str) -> httpx2.Client:
    return httpx2.Client(base_url=address, headers={"Authorization": "Bearer sk_survivor"}, timeout=10)


def ledger(client: httpx2.Client) -> dict[str, dict[str, object]]:
    lines = client.get("/_sim/ledger").json()["instances"]
    return {line["id"]: line for line in lines}


def test_all_that_was_answered_before_a_kill_is_there_after_it(tmp_path: Path) -> None:
    state = tmp_path / "cloud.db"
    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        keys = [
            client.post(f"{V1}/gpu/instance/create", json={**ORDER, "name": f"n{number}"}).json()["id"]
            for number in range(20)
        ]
        client.post("/_sim/clock", json={"advance": 60})
        client.post(f"{V1}/gpu/instance/delete", json={"instanceId": keys[0]})
        client.post(f"{V1}/gpu/instance/stop", json={"instanceId": keys[1]})
        client.post("/_sim/keys", json={"key": "sk_dead", "invalid": True})
        client.post("/_sim/stock", json={"productId": "4090.16c62g", "clusterId": "eu-gb-1", "free": 1})
        before = ledger(client)
        listed = client.get(f"{V1}/gpu/instances", params={"pageSize": 100}).json()
        simulator.kill()

    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        after = ledger(client)
        assert client.get(f"{V1}/gpu/instances", params={"pageSize": 100}).json() == listed
        client.post("/_sim/clock", json={"advance": 60})
        later = ledger(client)
        refused = client.get(f"{V1}/clusters", headers={"Authorization": "Bearer sk_dead"})
        shelves = client.get("/_sim/stock").json()["stock"]

    assert after == before
    assert set(keys) == set(after)
    assert later[keys[0]]["status"] == "removed"
    assert later[keys[1]]["status"] == "exited"
    assert refused.status_code == 401
    assert next(
        shelf["free"] for shelf in shelves if shelf["clusterId"] == "eu-gb-1" and shelf["mode"] == "onDemand"
    )


def test_an_effect_whose_answer_was_never_sent_is_kept_too(tmp_path: Path) -> None:
    state = tmp_path / "cloud.db"
    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        client.post("/_sim/faults", json={"fault": "resetAfter", "route": "POST *create"})
        try:
            client.post(f"{V1}/gpu/instance/create", json={**ORDER, "name": "unanswered"})
        except httpx2.ReadError:
            simulator.kill()

    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        names = [row["name"] for row in client.get(f"{V1}/gpu/instances").json()["instances"]]

    assert names == ["unanswered"]


def test_time_that_passed_stays_passed_after_a_kill_and_after_a_stop(tmp_path: Path) -> None:
    state = tmp_path / "cloud.db"
    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        client.post(f"{V1}/gpu/instance/create", json=ORDER)
        client.post("/_sim/clock", json={"advance": 600})
        client.post("/_sim/clock", json={"advance": 86_400})  # nothing falls due in this day
        before = client.get("/_sim/ledger").json()
        simulator.kill()

    with spawned_simulator(state, speed=None) as simulator, a_client(simulator.address) as client:
        killed = client.get("/_sim/ledger").json()
        client.post("/_sim/clock", json={"advance": 1_000, "speed": 50_000})

    with spawned_simulator(state, speed=None) as simulator, a_client(simulator.address) as client:
        clock = client.get("/_sim/clock").json()

    assert killed == before
    assert clock["speed"] == 50_000
    assert clock["now"] > before["now"] + 1_000


def addresses(client: httpx2.Client, instance_id: str) -> list[str]:
    body = client.get(f"{V1}/gpu/instance", params={"instanceId": instance_id}).json()
    return [*(port["endpoint"] for port in body["portMappings"]), body["connectComponentSSH"]["sshCommand"]]


def test_what_runs_is_reached_at_the_same_address_after_a_restart(tmp_path: Path) -> None:
    state = tmp_path / "cloud.db"
    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        order = {**ORDER, "ports": "8080/http, 5432/tcp"}
        key = client.post(f"{V1}/gpu/instance/create", json=order).json()["id"]
        client.post("/_sim/clock", json={"advance": 60})
        before = addresses(client, key)
        simulator.kill()

    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        assert addresses(client, key) == before
        assert httpx2.get(before[0], trust_env=False).text == "ok"
        simulator.kill()

    with (
        socket.create_server(("127.0.0.1", urlsplit(before[0]).port or 0)),
        spawned_simulator(state) as simulator,
        a_client(simulator.address) as client,
    ):
        moved = addresses(client, key)
        assert moved[0] != before[0]
        assert httpx2.get(moved[0], trust_env=False).text == "ok"


def test_what_a_full_disk_did_not_take_is_saved_when_there_is_room(tmp_path: Path) -> None:
    state = tmp_path / "cloud.db"
    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        with no_file_may_grow(simulator.process.pid):
            answer = client.post(f"{V1}/gpu/instance/create", json={**ORDER, "name": "unsaved"})
        client.post(f"{V1}/gpu/instance/create", json={**ORDER, "name": "saved"})
        simulator.kill()

    with spawned_simulator(state) as simulator, a_client(simulator.address) as client:
        names = {row["name"] for row in client.get(f"{V1}/gpu/instances").json()["instances"]}

    assert (answer.status_code, answer.json()["reason"]) == (500, "UNKNOWN")
    assert names == {"unsaved", "saved"}


def test_a_simulator_without_a_file_begins_anew(tmp_path: Path) -> None:
    for _ in range(2):
        with spawned_simulator() as simulator, a_client(simulator.address) as client:
            assert client.get(f"{V1}/gpu/instances").json()["total"] == 0
            client.post(f"{V1}/gpu/instance/create", json=ORDER)
    assert list(tmp_path.iterdir()) == []


def test_in_auto_mode_time_passes_by_itself() -> None:
    with spawned_simulator(speed=100_000) as simulator, a_client(simulator.address) as client:
        key = client.post(f"{V1}/gpu/instance/create", json=ORDER).json()["id"]
        statuses = set()
        while "running" not in statuses:
            body = client.get(f"{V1}/gpu/instance", params={"instanceId": key}).json()
            statuses.add(body["status"])

    assert statuses <= {"pending", "toCreate", "creating", "pulling", "running"}
