"""Lists of the simulated cloud that lag: of whatever kind, they show what was until they have noticed."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ostler.simulator.status import Status
from tests.support.simulated_account import V1, V2, Cloud
from tests.support.simulator import a_simulated_instance

LAG_S = 30.0


@dataclass(frozen=True, slots=True)
class Family:
    """How a kind of things is made, changed, listed and taken away, and the member that changes."""

    rows: str
    make: tuple[str, Mapping[str, object]]
    lists: tuple[str, ...]
    id: str
    take: str
    change: tuple[str, Mapping[str, object]] | None = None
    shows: str = ""
    taken_as: str = ""

    def made(self, cloud: Cloud) -> None:
        path, body = self.make
        assert cloud.post(f"{V1}{path}", body).status == 200

    def ids(self, cloud: Cloud) -> list[object]:
        return [row[self.id] for row in self.listed(cloud)]

    def listed(self, cloud: Cloud) -> list[dict[str, object]]:
        return cloud.get(f"{V1}{self.lists[0]}").rows(self.rows)


FAMILIES = {
    "networks": Family(
        "networks",
        ("/network/create", {"clusterId": "us-ca-6", "name": "before"}),
        ("/networks", "/networks"),
        "Id",
        "/network/delete",
        ("/network/update", {"name": "after"}),
        "name",
        "networkId",
    ),
    "storages": Family(
        "data",
        ("/networkstorage/create", {"clusterId": "us-ca-6", "storageName": "before", "storageSize": 10}),
        ("/networkstorages/list",),
        "storageId",
        "/networkstorage/delete",
        ("/networkstorage/update", {"storageName": "after", "storageSize": 10}),
        "storageName",
        "storageId",
    ),
    "registries": Family(
        "data",
        ("/repository/auth/save", {"name": "before", "username": "u", "password": "p"}),
        ("/repository/auths",),
        "id",
        "/repository/auth/delete",
        taken_as="id",
    ),
    "prewarms": Family(
        "data",
        ("/image/prewarm", {"imageUrl": "a/b:1", "clusterId": "us-ca-6", "note": "before"}),
        ("/image/prewarm", "/prewarm-tasks"),
        "id",
        "/image/prewarm/delete",
        ("/image/prewarm/edit", {"note": "after"}),
        "note",
        "id",
    ),
}


@pytest.fixture(params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


def test_what_is_new_is_missing_from_lists_for_a_while(family: Family) -> None:
    cloud = Cloud()
    before = family.ids(cloud)
    cloud.world.lag.create_s = LAG_S
    family.made(cloud)
    early = family.ids(cloud)
    in_v2 = [len(cloud.get(f"{V2}{path}").rows()) for path in family.lists[1:]]
    cloud.pass_time(LAG_S)

    assert early == before
    assert in_v2 == [len(before)] * len(in_v2)
    assert len(family.ids(cloud)) == len(before) + 1


def test_what_is_gone_stays_in_lists_for_a_while(family: Family) -> None:
    cloud = Cloud()
    family.made(cloud)
    last = family.ids(cloud)[-1]
    with cloud.world.lag.at_least(LAG_S):
        answer = cloud.post(f"{V1}{family.take}", {family.taken_as: last, "ids": [last]})
    early = family.ids(cloud)
    cloud.pass_time(LAG_S)

    assert answer.status == 200
    assert last in early
    assert last not in family.ids(cloud)


@pytest.mark.parametrize("name", [name for name, each in FAMILIES.items() if each.change])
def test_what_has_changed_is_shown_as_it_was_for_a_while(name: str) -> None:
    cloud, family = Cloud(), FAMILIES[name]
    assert family.change is not None
    family.made(cloud)
    path, body = family.change
    with cloud.world.lag.at_least(LAG_S):
        cloud.post(f"{V1}{path}", {family.taken_as: family.ids(cloud)[-1], **body})
    early = family.listed(cloud)[-1][family.shows]
    cloud.pass_time(LAG_S)

    assert (early, family.listed(cloud)[-1][family.shows]) == ("before", "after")


def test_templates_lag_in_both_apis_though_each_is_found_by_its_id() -> None:
    cloud = Cloud()
    totals = [cloud.get(f"{api}/templates")["total"] for api in (V1, V2)]
    cloud.world.lag.create_s = LAG_S
    template = {"name": "t", "type": "instance", "channel": "private", "image": "a/b", "rootfsSize": 60}
    key = cloud.post(f"{V1}/template/create", {"template": template}).text("templateId")

    assert [cloud.get(f"{api}/templates")["total"] for api in (V1, V2)] == totals
    assert cloud.get(f"{V1}/template", {"templateId": key}).status == 200


def test_a_job_is_listed_late_too() -> None:
    cloud = Cloud()
    instance = a_simulated_instance(cloud.world)
    cloud.world.lag.create_s = LAG_S
    cloud.post(f"{V1}/job/save/image", {"instanceId": instance.id, "image": "my/image:1"})
    early = [cloud.get(f"{V1}/jobs")["total"], cloud.get(f"{V2}/jobs")["total"]]
    cloud.pass_time(LAG_S)

    assert early == [0, 0]
    assert cloud.get(f"{V1}/jobs")["total"] == 1


def shown_ports(cloud: Cloud) -> list[list[object]]:
    rows = cloud.get(f"{V1}/gpu/instances").rows("instances")
    return [
        [port["port"] for port in mappings]
        for row in rows
        if isinstance(mappings := row["portMappings"], list)
    ]


def test_an_edit_of_ports_is_listed_late() -> None:
    cloud = Cloud()
    instance = a_simulated_instance(cloud.world)
    with cloud.world.lag.at_least(LAG_S):
        body = {"instanceId": instance.id, "ports": [{"port": 9000, "type": "tcp"}]}
        cloud.post(f"{V1}/gpu/instance/edit", body)
    early = shown_ports(cloud)
    cloud.pass_time(LAG_S)

    assert (early, shown_ports(cloud)) == ([[8080, 22]], [[9000]])


def test_what_is_refused_makes_no_list_lag() -> None:
    cloud = Cloud()
    instance = a_simulated_instance(cloud.world, Status.RUNNING)
    cloud.world.lag.effect_s = LAG_S
    refused = cloud.post(f"{V1}/gpu/instance/start", {"instanceId": instance.id})

    assert refused.status == 400
    assert cloud.world.lag.formers("instance", cloud.world.now) == {}


def test_lists_notice_one_change_after_the_other() -> None:
    cloud = Cloud()
    cloud.world.lag.create_s, cloud.world.lag.effect_s = 10.0, LAG_S
    body = {"clusterId": "us-ca-6", "storageName": "first", "storageSize": 10}
    key = cloud.post(f"{V1}/networkstorage/create", body).text("storageId")
    seen = []
    for name in ("second", "third"):
        cloud.pass_time(5)
        cloud.post(f"{V1}/networkstorage/update", {"storageId": key, "storageName": name, "storageSize": 10})
    for _ in range(5):
        cloud.pass_time(7)
        seen.append([row["storageName"] for row in cloud.get(f"{V1}/networkstorages/list").rows()])

    assert seen == [["first"], ["first"], ["first"], ["second"], ["third"]]
