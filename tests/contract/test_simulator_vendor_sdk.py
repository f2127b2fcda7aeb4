"""The vendor's own Python SDK against the simulator: a client that others wrote reads every answer strictly.

What the SDK gets wrong (it asks for metrics at a path that no cloud has) is refused here as there.
"""

from collections.abc import Callable, Iterator

import httpx2
import pytest
from novita import (
    CreateInstanceRequest,
    EditInstanceRequest,
    NotFoundError,
    NovitaClient,
    Port,
    SaveImageRequest,
    Type,
)
from novita.exceptions import BadRequestError
from novita.generated.models import (
    BillingMode,
    Channel,
    CreateImagePrewarmRequest,
    CreateNetworkStorageRequest,
    CreateTemplateRequest,
    InstanceInfo,
    Kind,
    TemplateCreatePayload,
)

from tests.support.simulator import SpawnedSimulator, spawned_simulator

LONG_S = 3600


@pytest.fixture(scope="module")
def simulator() -> Iterator[SpawnedSimulator]:
    with spawned_simulator(speed=0) as running:
        yield running


@pytest.fixture(scope="module")
def sdk(simulator: SpawnedSimulator) -> Iterator[NovitaClient]:
    with NovitaClient(api_key="sk_test", base_url=simulator.address) as client:
        yield client


@pytest.fixture
def wait(simulator: SpawnedSimulator) -> Callable[[], None]:
    """Return what lets the simulated time pass."""

    def pass_time() -> None:
        answer = httpx2.post(f"{simulator.address}/_sim/clock", json={"advance": LONG_S}, trust_env=False)
        assert answer.status_code == 200, answer.text

    return pass_time


def an_order(name: str) -> CreateInstanceRequest:
    return CreateInstanceRequest(
        name=name,
        product_id="4090.16c62g",
        gpu_num=1,
        rootfs_size=60,
        image_url="docker.io/library/ubuntu:22.04",
        kind=Kind.gpu,
        billing_mode=BillingMode.on_demand,
        ports="8080/http,22/tcp",
    )


def status_of(instance: InstanceInfo) -> str:
    return str(instance.status)


def test_the_sdk_reads_the_whole_catalogue(sdk: NovitaClient) -> None:
    assert sdk.gpu.clusters.list()
    assert any(product.available_deploy for product in sdk.gpu.products.list())
    assert sdk.gpu.products.list_cpu()
    assert sdk.gpu.templates.list()
    assert sdk.gpu.endpoints.get_limit_ranges()
    assert sdk.gpu.image_prewarm.get_quota()
    for listed in (sdk.gpu.storages, sdk.gpu.networks, sdk.gpu.endpoints, sdk.gpu.jobs, sdk.gpu.registries):
        assert isinstance(listed.list(), list)


def test_the_sdk_leads_an_instance_through_its_life(sdk: NovitaClient, wait: Callable[[], None]) -> None:
    instances = sdk.gpu.instances
    made = instances.create(an_order("life")).id
    assert status_of(instances.get(made)) == "pending"
    wait()
    assert status_of(instances.get(made)) == "running"
    assert made in {each.id for each in instances.list()}
    steps: list[tuple[Callable[[str], object], str]] = [
        (instances.stop, "exited"),
        (instances.start, "running"),
        (instances.restart, "running"),
        (instances.migrate, "running"),
    ]
    for verb, expected in steps:
        verb(made)
        wait()
        assert status_of(instances.get(made)) == expected, verb
    instances.edit(
        EditInstanceRequest(instance_id=made, ports=[Port(port=9000, type=Type.tcp)], expand_root_disk=10)
    )
    assert instances.save_image(SaveImageRequest(instance_id=made, image="docker.io/me/saved:1"))
    wait()
    instances.delete(made)
    wait()
    with pytest.raises(NotFoundError):
        instances.get(made)


def test_the_sdk_is_told_when_a_verb_does_not_fit(sdk: NovitaClient, wait: Callable[[], None]) -> None:
    made = sdk.gpu.instances.create(an_order("twice")).id
    wait()
    with pytest.raises(BadRequestError, match="invalid state change"):
        sdk.gpu.instances.start(made)
    sdk.gpu.instances.delete(made)


def test_the_sdk_keeps_templates_registries_storages_and_prewarms(sdk: NovitaClient) -> None:
    payload = TemplateCreatePayload(
        name="mine",
        readme="",
        type="instance",
        channel=Channel.private,
        image="redis:7",
        start_command="",
        rootfs_size=10,
        ports=[],
        volumes=[],
        envs=[],
    )
    template = sdk.gpu.templates.create(CreateTemplateRequest(template=payload)).template_id
    assert sdk.gpu.templates.get(template).name == "mine"
    sdk.gpu.templates.delete(template)
    with pytest.raises(BadRequestError, match="template not found"):
        sdk.gpu.templates.get(template)

    sdk.gpu.registries.create("ghcr.io", "me", "secret")
    kept = next(auth for auth in sdk.gpu.registries.list() if auth.name == "ghcr.io")
    sdk.gpu.registries.delete(kept.id)

    wish = CreateNetworkStorageRequest(cluster_id="us-ca-6", storage_name="data", storage_size=100)
    storage = sdk.gpu.storages.create(wish)
    assert storage.storage_id in {each.storage_id for each in sdk.gpu.storages.list()}
    assert storage.storage_id
    sdk.gpu.storages.delete(storage.storage_id)

    task = sdk.gpu.image_prewarm.create(
        CreateImagePrewarmRequest(image_url="docker.io/library/redis:7", cluster_id="us-ca-6")
    )
    assert task.id in {each.id for each in sdk.gpu.image_prewarm.list()}
    sdk.gpu.image_prewarm.delete(task.id)


def test_the_path_that_only_the_sdk_believes_in_does_not_exist(sdk: NovitaClient) -> None:
    with pytest.raises(NotFoundError):
        sdk.gpu.metrics.get("3560b7fec915bbf9")
