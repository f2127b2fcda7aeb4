"""Recorded requests of the cloud's API, replayed at the simulator: the answers must have the recorded shapes.

Covers what an account owns besides v1 instances, and the whole of v2. Each case finds a world prepared with
the ids that it names, so that the recorded request is sent as it is.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import httpx2
import pytest

from ostler.simulator.account import kinds
from ostler.simulator.account.endpoint import Endpoint, HealthCheck, Mount, Workers
from ostler.simulator.account.network import Network
from ostler.simulator.account.network_storage import NetworkStorage
from ostler.simulator.account.prewarm import PrewarmTask
from ostler.simulator.account.registry_auth import RegistryAuth
from ostler.simulator.account.template import PortGroup, Template, Volume
from ostler.simulator.clock import WorldClock, monotonic
from ostler.simulator.cloud import Cloud as PretendCloud
from ostler.simulator.instance import Env, ExposedPort, Mode, VolumeMount
from ostler.simulator.job import JOBS, Job, JobType
from ostler.simulator.market import Cluster, Product, Shelf
from ostler.simulator.server import create_app
from ostler.simulator.status import Status
from ostler.simulator.stockroom import fill
from ostler.simulator.world import CLUSTERS, PRODUCTS
from tests.support.shapes import assert_same_shape
from tests.support.simulated_account import ACCOUNT, NOW, Cloud, put_instance

CASES = Path(__file__).with_name("cases.json")
ELSEWHERE = (
    "clusters.",
    "products.",
    "instance.",
    "auth.",
    "path.",
)  # replayed with the core of the simulator


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
    """Return the cases of the families that are covered here."""
    cases = json.loads(CASES.read_text(encoding="utf-8"))["cases"]
    names = ("id", "method", "path", "query", "request", "status", "response")
    return [
        Case(**{name: case[name] for name in names}) for case in cases if not case["id"].startswith(ELSEWHERE)
    ]


def a_template(template_id: str) -> Template:
    return Template(
        id=template_id,
        account=ACCOUNT,
        name="ubuntu",
        image="ubuntu:latest",
        rootfs_gb=10,
        volumes=(Volume("local", 20, "/workspace"),),
        ports=(PortGroup("tcp", (8080, 8090)), PortGroup("http", (6000, 60001))),
        envs=(("testkey", "123"),),
        created_at=int(NOW),
    )


def an_endpoint(endpoint_id: str) -> Endpoint:
    return Endpoint(
        id=endpoint_id,
        account=ACCOUNT,
        name="example-endpoint",
        app_name="example-app",
        image="registry.example.com/namespace/image:tag",
        product_id="product-id",
        cluster_id="region-id",
        workers=Workers(least=1, most=2),
        mounts=(Mount("network", "storage-id", 123, "/data"),),
        envs=(("ENV_NAME", "ENV_VALUE"),),
        ports=(8080,),
        health=HealthCheck("/healthz", 8080),
        created_at=int(NOW) - 60,
    )


def a_live_v2_instance(cloud: Cloud) -> None:
    instance = put_instance(cloud, "37d312386c80a3b9", Status.RUNNING)
    instance.envs = (Env("CUDA_VISIBLE_DEVICES", "0"),)
    instance.ports = (ExposedPort(30_000, "http"),)


def a_v2_instance(status: Status, mode: Mode = Mode.ON_DEMAND) -> Callable[[Cloud], None]:
    def prepare(cloud: Cloud) -> None:
        put_instance(cloud, "ca338f12f3", status, mode)

    return prepare


def an_instance_to_save(cloud: Cloud) -> None:
    put_instance(cloud, "inst-123", Status.RUNNING)


def a_running_job(cloud: Cloud) -> None:
    put_instance(cloud, "inst-123", Status.RUNNING)
    job = Job("10wi9visv0rqt57w", ACCOUNT, "inst-123", JobType.SAVE_IMAGE, NOW)
    cloud.world.put(JOBS, job.id, job)


def a_prewarm_task(cloud: Cloud) -> None:
    task = PrewarmTask("task-123", ACCOUNT, "docker.io/myimage:latest", "cluster-1", "", (), "", int(NOW))
    cloud.world.put(kinds.PREWARM_TASKS, task.id, task)


def a_mounted_storage(cloud: Cloud) -> None:
    put_instance(cloud, "inst-123", Status.RUNNING).volumes = (VolumeMount("stor-123", "/network"),)


def nothing(_: Cloud) -> None:
    """Most cases find all they need in the common world."""


# What a case needs besides the common world.
PREPARATIONS: dict[str, Callable[[Cloud], None]] = {
    "jobs.saveimage": an_instance_to_save,
    "jobs.break": a_running_job,
    "prewarm.edit": a_prewarm_task,
    "prewarm.delete": a_prewarm_task,
    "storage.delete.inuse": a_mounted_storage,
    "v2.instance.list.live": a_live_v2_instance,
    "v2.instance.start": a_v2_instance(Status.EXITED),
    "v2.instance.stop": a_v2_instance(Status.RUNNING),
    "v2.instance.delete": a_v2_instance(Status.RUNNING),
    "v2.instance.automigrate": a_v2_instance(Status.RUNNING),
    "v2.instance.billing": a_v2_instance(Status.RUNNING),
    "v2.instance.ports": a_v2_instance(Status.RUNNING),
    "v2.instance.renew": a_v2_instance(Status.RUNNING, Mode.MONTHLY),
    "v2.instance.autorenew": a_v2_instance(Status.RUNNING, Mode.MONTHLY),
}


def the_common_world() -> Cloud:
    """Return a cloud that has every place, machine and possession that a case names."""
    cloud = Cloud()
    world = cloud.world
    for cluster_id in ("cluster-1", "cluster-abc123", "region-a", "region-id"):
        world.put(CLUSTERS, cluster_id, Cluster(cluster_id, f"{cluster_id.upper()} (Somewhere)"))
    product = Product("product-id", "RTX 4090 24GB", "gpu", 16, 62, 35_000, monthly_prices={1: 20_000_000})
    world.put(PRODUCTS, product.id, product)
    fill(world, Shelf(product.id, "region-id", Mode.ON_DEMAND, free=8, capacity=8))
    for template_id in ("100", "212"):
        world.put(kinds.TEMPLATES, template_id, a_template(template_id))
    for auth_id in ("auth-123", "registry-auth-id"):
        world.put(kinds.REGISTRY_AUTHS, auth_id, RegistryAuth(auth_id, ACCOUNT, "test", "uuuu", "1111"))
    for storage_id, place in (
        ("stor-123", "cluster-1"),
        ("storage-id", "region-id"),
        ("network-storage-id", "region-id"),
    ):
        storage = NetworkStorage(storage_id, ACCOUNT, storage_id, 100, place, int(NOW))
        world.put(kinds.STORAGES, storage_id, storage)
    for network_id, place in (
        ("net-1", "cluster-1"),
        ("network-abc123", "cluster-1"),
        ("vpc-550e8400-e29b-41d4-a716-446655440000", "region-id"),
    ):
        network = Network(network_id, ACCOUNT, network_id[:30], place, "10.2.0.0/16", int(NOW) - 60)
        world.put(kinds.NETWORKS, network_id, network)
    world.put(kinds.ENDPOINTS, "endpoint-id", an_endpoint("endpoint-id"))
    return cloud


def a_world_for(case: Case) -> Cloud:
    cloud = the_common_world()
    PREPARATIONS.get(case.id, nothing)(cloud)
    return cloud


def assert_answers_as_recorded(case: Case, status: int, body: object) -> None:
    assert status == case.status, body
    assert_same_shape(case.response, body)
    if case.status >= 400:
        assert isinstance(case.response, dict)
        assert isinstance(body, dict)
        assert body["reason"] == case.response["reason"]


@pytest.mark.parametrize("case", recorded_cases(), ids=lambda case: case.id)
def test_a_recorded_request_is_answered_in_the_recorded_shape(case: Case) -> None:
    cloud = a_world_for(case)

    answer = cloud.call(case.method, case.path, query=case.query, body=case.request)

    assert_answers_as_recorded(case, answer.status, answer.body)


@pytest.mark.parametrize("case", recorded_cases(), ids=lambda case: case.id)
async def test_the_same_answer_comes_over_http(case: Case) -> None:
    cloud = PretendCloud(a_world_for(case).world, WorldClock(monotonic, start=NOW, speed=0))
    transport = httpx2.ASGITransport(app=create_app(cloud))
    headers = {"Authorization": "Bearer sk_anybody"}

    async with httpx2.AsyncClient(
        transport=transport, base_url="http://cloud.test", headers=headers
    ) as client:
        answer = await client.request(case.method, case.path, params=case.query, json=case.request)

    assert_answers_as_recorded(case, answer.status_code, answer.json())


def test_no_case_is_left_out_between_here_and_the_core() -> None:
    everything = json.loads(CASES.read_text(encoding="utf-8"))["cases"]

    here = {case.id for case in recorded_cases()}

    assert {case["id"] for case in everything if case["api"] == "v2"} <= here
    assert {"billing.balance", "template.list", "registry.list", "storage.list", "vpc.get"} <= here
    assert set(PREPARATIONS) <= here
