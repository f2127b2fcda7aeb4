"""What an account owns survives a restart of the simulator, and goes on where it was.

The rows are kept as the state file keeps them: each call saves what it changed.
"""

from ostler.simulator.account.kinds import gpu_use, set_gpu_use, set_manners
from ostler.simulator.account.manners import Manners
from ostler.simulator.account.network_storage import CreateAnswer
from ostler.simulator.genesis import saved_world
from ostler.simulator.world import Change
from tests.support.simulated_account import BASIC, V1, V2, Cloud, a_running_instance

READS = (
    f"{V1}/templates",
    f"{V1}/repository/auths",
    f"{V1}/networkstorages/list",
    f"{V1}/networks",
    f"{V1}/jobs",
    f"{V1}/image/prewarm",
    f"{V1}/endpoints",
    f"{BASIC}/billing/balance/detail",
    f"{BASIC}/billing/bill/list",
    f"{V2}/instances",
    f"{V2}/endpoints",
)


OWNED = {
    "beginning",
    "endpoint",
    "forgotten_image",
    "gpu_use",
    "manners",
    "network",
    "prewarm",
    "registry",
    "storage",
    "template",
    "web_terminal",
}

Rows = dict[tuple[str, str], Change]


def save(cloud: Cloud, rows: Rows) -> None:
    """Do what the state file does after each call: new rows go to the end, old ones keep their place."""
    rows.update({(change.kind, change.id): change for change in cloud.world.take_changes()})


def a_cloud_with_everything(rows: Rows) -> Cloud:
    cloud = Cloud()
    instance = a_running_instance(cloud)
    place = {"clusterId": "us-ca-6"}
    template = {"name": "t", "image": "i", "rootfsSize": 10, "channel": "private", "type": "instance"}
    endpoint = {"name": "e", "image": {"image": "i"}, "products": [{"id": "4090.16c62g"}]}
    for path, body in (
        ("template/create", {"template": {**template, "ports": [{"type": "tcp", "ports": [1]}]}}),
        ("repository/auth/save", {"name": "n", "username": "u", "password": "p"}),
        ("networkstorage/create", {**place, "storageName": "s", "storageSize": 10}),
        ("network/create", {**place, "name": "vpc"}),
        ("image/prewarm", {**place, "imageUrl": "image:1"}),
        ("job/save/image", {"instanceId": instance.id, "image": "me/app:1"}),
        ("endpoint/create", {"endpoint": endpoint}),
    ):
        save(cloud, rows)
        assert cloud.post(f"{V1}/{path}", body).status == 200
    set_gpu_use(cloud.world, instance.id, 0.0)
    set_manners(cloud.world, Manners(storage_create=CreateAnswer.STRING))
    save(cloud, rows)
    return cloud


def restarted(cloud: Cloud, rows: Rows) -> Cloud:
    return Cloud(saved_world(cloud.world.now, rows.values()))


def test_every_list_is_the_same_after_a_restart() -> None:
    rows: Rows = {}
    cloud = a_cloud_with_everything(rows)
    before = {path: cloud.get(path).body for path in READS}

    after = restarted(cloud, rows)

    assert {path: after.get(path).body for path in READS} == before


def test_the_switches_stay_as_they_were_set() -> None:
    rows: Rows = {}
    after = restarted(a_cloud_with_everything(rows), rows)
    (instance,) = after.world.fleet(after.account)

    assert gpu_use(after.world, instance.id).percent_at(int(after.world.now)) == 0.0
    body = {"clusterId": "us-ca-6", "storageName": "s", "storageSize": 10}
    assert isinstance(after.post(f"{V1}/networkstorage/create", body).body, str)


def test_what_was_under_way_ends_after_a_restart() -> None:
    rows: Rows = {}
    cloud = restarted(a_cloud_with_everything(rows), rows)

    cloud.pass_time(3_600)

    assert "image:1" in cloud.world.clusters["us-ca-6"].cached_images
    assert cloud.get(f"{V1}/jobs", {"state": "success"})["total"] == 1
    assert cloud.get(f"{V1}/networks").rows("networks")[0]["state"] == {"state": "ready", "error": ""}


def test_an_image_that_was_fetched_is_still_there_after_a_restart() -> None:
    rows: Rows = {}
    cloud = a_cloud_with_everything(rows)
    cloud.pass_time(3_600)
    save(cloud, rows)

    assert "image:1" in restarted(cloud, rows).world.clusters["us-ca-6"].cached_images


def test_nothing_is_left_asleep_after_a_restart() -> None:
    rows: Rows = {}
    cloud = a_cloud_with_everything(rows)
    instance_id = next(iter(cloud.world.fleet(cloud.account))).id
    cloud.pass_time(3_600)
    cloud.put(f"{V2}/instances/{instance_id}/web-terminal", {"enable": False})
    cloud.delete(f"{V2}/images/{cloud.get(f'{V2}/images').rows()[0]['id']}")
    save(cloud, rows)

    after = restarted(cloud, rows)

    assert OWNED & {kind for kind, _ in rows} == OWNED
    assert OWNED.isdisjoint(after.world._asleep)


def test_what_was_dropped_stays_dropped() -> None:
    cloud = a_cloud_with_everything({})
    storage = cloud.get(f"{V1}/networkstorages/list").rows()[0]
    cloud.post(f"{V1}/networkstorage/delete", {"storageId": storage["storageId"]})

    (change,) = (each for each in cloud.world.take_changes() if each.kind == "storage")

    assert (change.kind, change.id, change.body) == ("storage", storage["storageId"], None)
