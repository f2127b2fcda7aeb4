"""Recorded requests of the cloud's v1 core, replayed at the simulator: the answers have the recorded shapes.

The families that an account owns and v2 are replayed beside them in tests/contract.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from ostler.simulator.account.kinds import STORAGES
from ostler.simulator.account.network_storage import NetworkStorage
from ostler.simulator.accounting import set_balance
from ostler.simulator.exchange import ErrorBody
from ostler.simulator.faults import Fault, FaultKind
from ostler.simulator.instance import Env, ExposedPort, Instance, Mode, SpotStatus, VolumeMount
from ostler.simulator.market import Cluster, Product, Shelf
from ostler.simulator.status import Status
from ostler.simulator.stockroom import fill
from ostler.simulator.world import CLUSTERS, INSTANCES, PRODUCTS, World
from tests.support.shapes import assert_same_shape
from tests.support.simulator import EPOCH, SimulatedCloud, a_simulated_instance

CASES = Path(__file__).parents[1] / "contract" / "cases.json"
HERE = ("clusters.", "products.", "instance.", "auth.", "path.")
KNOWN_ID = "3560b7fec915bbf9"
SDK_ID = "inst-123"

# Where the recorded pair is a client's own wish and live answers differ: (case, path in the answer).
LIVE_IS_OTHERWISE = {
    "products.list.sdk": ("price",),  # live sends a string
}


@dataclass(frozen=True, slots=True)
class Case:
    """One recorded pair of request and answer."""

    id: str
    method: str
    path: str
    query: dict[str, str]
    request: dict[str, object] | None
    status: int
    response: object


def recorded_cases() -> list[Case]:
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    names = ("id", "method", "path", "query", "request", "status", "response")
    return [Case(**{name: case[name] for name in names}) for case in cases if case["id"].startswith(HERE)]


def renamed(world: World, instance: Instance, key: str) -> Instance:
    """Give an instance the id that a case names."""
    world.put(INSTANCES, key, instance)
    world.drop(INSTANCES, instance.id)
    world.ledger[key] = world.ledger[instance.id]
    instance.id = key
    return instance


def known(
    status: Status, mode: Mode = Mode.ON_DEMAND, key: str = KNOWN_ID
) -> Callable[[SimulatedCloud], None]:
    def prepare(simulated: SimulatedCloud) -> None:
        instance = renamed(simulated.world, a_simulated_instance(simulated.world, status, mode), key)
        instance.envs = (Env("A", "1"),)
        instance.ports = (ExposedPort(80, "http"), ExposedPort(3306, "tcp"))
        instance.volumes = (VolumeMount("vol-1", "/data", 500),)

    return prepare


def spot_in(status: Status, spot_status: SpotStatus) -> Callable[[SimulatedCloud], None]:
    def prepare(simulated: SimulatedCloud) -> None:
        known(status, Mode.SPOT)(simulated)
        instance = simulated.world.instances[KNOWN_ID]
        instance.spot_status, instance.spot_reclaim_at = spot_status, simulated.world.now + 3600

    return prepare


def without_stock(simulated: SimulatedCloud) -> None:
    known(Status.EXITED)(simulated)
    fill(simulated.world, Shelf("4090.16c62g", "us-ca-6", Mode.ON_DEMAND, 0, 1))


def several(simulated: SimulatedCloud) -> None:
    for _ in range(12):
        a_simulated_instance(simulated.world)
    for instance in simulated.world.instances.values():
        instance.envs, instance.volumes = (Env("A", "1"),), (VolumeMount("vol-1", "/data", 500),)


def without_balance(simulated: SimulatedCloud) -> None:
    set_balance(simulated.world, "default", 0)


def sold_out_spot(simulated: SimulatedCloud) -> None:
    for cluster_id in simulated.world.clusters:
        fill(simulated.world, Shelf("3090.16c92g", cluster_id, Mode.SPOT, 0, 1))


def rate_limited(simulated: SimulatedCloud) -> None:
    simulated.next_call("*", Fault(0, FaultKind.RATE_LIMIT, body=ErrorBody.ERROR))


def nothing(_: SimulatedCloud) -> None:
    """Most cases find all they need in the common world."""


PREPARATIONS: dict[str, Callable[[SimulatedCloud], None]] = {
    "products.429": rate_limited,
    "instance.create.nostock": sold_out_spot,
    "instance.create.nobalance": without_balance,
    "instance.list.sdk": several,
    "instance.list.filters": several,
    "instance.list.oldshape": several,
    "instance.get.running": known(Status.RUNNING),
    "instance.get.pending": known(Status.PENDING),
    "instance.get.exited": known(Status.EXITED),
    "instance.get.spot.notified": spot_in(Status.RUNNING, SpotStatus.NOTIFIED),
    "instance.get.spot.reclaimed": spot_in(Status.EXITED, SpotStatus.TERMINATED),
    "instance.start": known(Status.EXITED),
    "instance.start.badstate": known(Status.RUNNING),
    "instance.start.nostock": without_stock,
    "instance.stop": known(Status.RUNNING),
    "instance.restart": known(Status.RUNNING),
    "instance.delete.monthly": known(Status.RUNNING, Mode.MONTHLY),
    "instance.migrate": known(Status.RUNNING),
    "instance.edit": known(Status.RUNNING, key=SDK_ID),
    "instance.renew": known(Status.RUNNING, Mode.MONTHLY, SDK_ID),
    "instance.tomonthly": known(Status.RUNNING, key=SDK_ID),
    "instance.autorenew": known(Status.RUNNING, Mode.MONTHLY),
}


def the_common_world() -> SimulatedCloud:
    """Return a cloud that sells what the cases buy."""
    simulated = SimulatedCloud()
    world = simulated.world
    set_balance(world, "default", 10**12)
    world.put(CLUSTERS, "cluster-1", Cluster("cluster-1", "CLUSTER-01 (Somewhere)"))
    world.put(PRODUCTS, "prod-1", Product("prod-1", "A100 80GB", "gpu", 8, 120, 350_000, 200_000))
    world.put(STORAGES, "vol-1", NetworkStorage("vol-1", "default", "vol", 100, "us-ca-6", int(EPOCH)))
    fill(world, Shelf("prod-1", "cluster-1", Mode.ON_DEMAND, 8, 8))
    return simulated


@pytest.mark.parametrize("case", recorded_cases(), ids=lambda case: case.id)
async def test_a_recorded_request_is_answered_in_the_recorded_shape(case: Case) -> None:
    simulated = the_common_world()
    PREPARATIONS.get(case.id, nothing)(simulated)

    async with simulated.client() as client:
        if case.id == "auth.401":
            del client.headers["authorization"]
        response = await client.request(case.method, case.path, params=case.query, json=case.request)

    assert response.status_code == case.status, response.text
    body = response.json()
    assert_same_shape(without(case.response, LIVE_IS_OTHERWISE.get(case.id, ())), body)
    if case.status >= 400 and isinstance(case.response, dict) and "reason" in case.response:
        assert body["reason"] == case.response["reason"]


def without(expected: object, keys: tuple[str, ...]) -> object:
    """Return what was recorded, less what live answers have otherwise."""
    if isinstance(expected, dict):
        return {key: without(value, keys) for key, value in expected.items() if key not in keys}
    if isinstance(expected, list):
        return [without(value, keys) for value in expected]
    return expected


def test_every_preparation_belongs_to_a_case() -> None:
    assert {case.id for case in recorded_cases()} >= set(PREPARATIONS) | set(LIVE_IS_OTHERWISE)
