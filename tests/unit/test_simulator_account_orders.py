"""What an order for an instance names among the account's things: credentials, disks, a network.

They must exist and be in one cluster; an instance is placed accordingly.
"""

from dataclasses import replace

import pytest

from ostler.simulator import creation
from ostler.simulator.account.kinds import NETWORKS
from ostler.simulator.instance import VolumeMount
from ostler.simulator.order import Order
from ostler.simulator.refusal import Refusal
from tests.support.simulated_account import V1, Answer, Cloud, a_running_instance, an_order


def a_storage(cloud: Cloud, cluster_id: str = "us-ca-6") -> str:
    body = {"clusterId": cluster_id, "storageName": "data", "storageSize": 100}
    return cloud.post(f"{V1}/networkstorage/create", body).text("storageId")


def a_network(cloud: Cloud, cluster_id: str = "us-ca-6") -> str:
    cloud.post(f"{V1}/network/create", {"clusterId": cluster_id, "name": "vpc"})
    cloud.pass_time(10)
    return str(cloud.get(f"{V1}/networks").rows("networks")[-1]["Id"])


def refused(cloud: Cloud, order: Order) -> str:
    with pytest.raises(Refusal) as refusal:
        creation.create(cloud.world, order)
    assert refusal.value.status == 400
    assert list(cloud.world.fleet(cloud.account)) == []
    return refusal.value.reason


def test_credentials_that_do_not_exist_are_refused() -> None:
    cloud = Cloud()
    assert refused(cloud, replace(an_order(cloud), image_auth_id="nothing")) == "IMAGE_URL_OR_AUTH_ERROR"


def test_a_disk_that_does_not_exist_is_refused() -> None:
    cloud = Cloud()
    volumes = (VolumeMount("nothing", "/network"),)

    assert refused(cloud, replace(an_order(cloud), volumes=volumes)) == "NETWORK_STORAGE_UNAVAILABLE"


def test_a_disk_in_another_cluster_is_refused() -> None:
    cloud = Cloud()
    volumes = (VolumeMount(a_storage(cloud, "as-sgp-2"), "/network"),)

    assert refused(cloud, replace(an_order(cloud), volumes=volumes)) == "NETWORK_STORAGE_UNAVAILABLE"


def test_a_disk_decides_the_cluster_and_is_shown_with_its_size() -> None:
    cloud = Cloud()
    volumes = (VolumeMount(a_storage(cloud, "as-sgp-2"), "/network"),)

    instance = creation.create(cloud.world, replace(an_order(cloud), cluster_ids=(), volumes=volumes))

    assert instance.cluster_id == "as-sgp-2"
    assert instance.volumes == (replace(volumes[0], size_gb=100),)


def test_a_network_gives_every_instance_an_address_of_its_own() -> None:
    cloud = Cloud()
    order = replace(an_order(cloud), network_id=a_network(cloud))

    ips = [creation.create(cloud.world, order).network_ip for _ in range(2)]

    assert ips == ["10.1.0.2", "10.1.0.3"]


def test_a_network_without_a_free_address_is_full() -> None:
    cloud = Cloud()
    network_id = a_network(cloud)
    network = cloud.world.rows(NETWORKS)[network_id]
    cloud.world.put(NETWORKS, network_id, replace(network, segment="10.1.0.0/30"))
    order = replace(an_order(cloud), network_id=network_id)

    assert creation.create(cloud.world, order).network_ip == "10.1.0.2"
    with pytest.raises(Refusal) as refusal:
        creation.create(cloud.world, order)
    assert refusal.value.reason == "OPERATION_LIMIT"


def test_a_network_must_be_ready() -> None:
    cloud = Cloud()
    cloud.post(f"{V1}/network/create", {"clusterId": "us-ca-6", "name": "vpc"})
    network_id = str(cloud.get(f"{V1}/networks").rows("networks")[0]["Id"])

    assert refused(cloud, replace(an_order(cloud), network_id=network_id)) == "DEPENDENT_RESOURCE_STATE"


def test_a_network_in_another_cluster_is_refused() -> None:
    cloud = Cloud()

    assert (
        refused(cloud, replace(an_order(cloud), network_id=a_network(cloud, "as-sgp-2"))) == "VALIDATOR_PARAM"
    )


def test_a_network_that_does_not_exist_is_missing() -> None:
    cloud = Cloud()
    assert refused(cloud, replace(an_order(cloud), network_id="nothing")) == "NOT_FOUND"


@pytest.mark.parametrize("ip", ["10.9.0.2", "somewhere"])
def test_a_fixed_address_must_be_one_of_the_network(ip: str) -> None:
    cloud = Cloud()

    assert (
        refused(cloud, replace(an_order(cloud), network_id=a_network(cloud), network_ip=ip))
        == "VALIDATOR_PARAM"
    )


def test_a_fixed_address_is_given_once() -> None:
    cloud = Cloud()
    order = replace(an_order(cloud), network_id=a_network(cloud), network_ip="10.1.7.7")

    assert creation.create(cloud.world, order).network_ip == "10.1.7.7"
    with pytest.raises(Refusal) as refusal:
        creation.create(cloud.world, order)
    assert refusal.value.reason == "CONFLICT"


def an_upgrade(cloud: Cloud, **changed: object) -> Answer:
    """Ask for an upgrade of a running instance in us-ca-6."""
    instance = a_running_instance(cloud, replace(an_order(cloud), cluster_ids=("us-ca-6",)))
    body = {
        "instanceId": instance.id,
        "imageUrl": "other/image:2",
        "imageAuthId": "",
        "envs": [],
        "command": "",
        "entrypoint": "",
        "save": True,
        "networkVolume": {"volumeMounts": []},
    }
    return cloud.post(f"{V1}/gpu/instance/upgrade", body | changed)


@pytest.mark.parametrize(
    "name", ["imageUrl", "imageAuthId", "envs", "command", "entrypoint", "save", "networkVolume"]
)
def test_an_upgrade_replaces_all_and_so_must_name_all(name: str) -> None:
    answer = an_upgrade(Cloud(), **{name: None})

    assert (answer.status, answer["message"]) == (400, f"invalid {name}: value is required")


def test_an_upgrade_mounts_disks_that_exist_in_the_instances_cluster() -> None:
    cloud = Cloud()
    mounts = {
        name: {"volumeMounts": [{"type": "network", "id": storage_id, "mountPath": "/data"}]}
        for name, storage_id in (
            ("good", a_storage(cloud)),
            ("elsewhere", a_storage(cloud, "as-sgp-2")),
            ("nowhere", "nothing"),
        )
    }

    refusals = [an_upgrade(cloud, networkVolume=mounts[name]).reason for name in ("elsewhere", "nowhere")]
    accepted = an_upgrade(cloud, networkVolume=mounts["good"])

    assert refusals == ["NETWORK_STORAGE_UNAVAILABLE"] * 2
    assert accepted.body == {}
    (changed,) = (each for each in cloud.world.fleet(cloud.account) if each.image_url == "other/image:2")
    assert [(volume.mount_path, volume.size_gb) for volume in changed.volumes] == [("/data", 100)]


def test_an_upgrade_with_credentials_that_do_not_exist_is_refused() -> None:
    assert an_upgrade(Cloud(), imageAuthId="nothing").reason == "IMAGE_URL_OR_AUTH_ERROR"
