"""Private networks of the simulated cloud, through v1's routes.

Each test begins with the default market and no network.
"""

import pytest

from ostler.simulator.status import Status
from tests.support.simulated_account import V1, Answer, Cloud, put_instance


def create(cloud: Cloud, name: str = "vpc", cluster_id: str = "us-ca-6") -> Answer:
    return cloud.post(f"{V1}/network/create", {"clusterId": cluster_id, "name": name})


def only_network(cloud: Cloud) -> dict[str, object]:
    (row,) = cloud.get(f"{V1}/networks").rows("networks")
    return row


def test_creating_answers_no_id_so_that_the_network_is_found_by_name() -> None:
    cloud = Cloud()

    answer = create(cloud)

    assert answer.body == {}
    found = cloud.get(f"{V1}/networks", {"name": "VPC"})
    assert [row["name"] for row in found.rows("networks")] == ["vpc"]
    assert found["total"] == "1"


def test_a_network_is_creating_before_it_is_ready() -> None:
    cloud = Cloud()
    create(cloud)

    assert only_network(cloud)["state"] == {"state": "creating", "error": ""}

    cloud.pass_time(5)
    assert only_network(cloud)["state"] == {"state": "ready", "error": ""}


def test_one_network_comes_as_a_list_of_one() -> None:
    cloud = Cloud()
    create(cloud)
    row = only_network(cloud)

    answer = cloud.get(f"{V1}/network", {"networkId": str(row["Id"])})

    assert answer.body == {"network": [row]}


def test_every_network_of_an_account_has_a_segment_of_its_own() -> None:
    cloud = Cloud()
    for name in "abc":
        create(cloud, name)
    cloud.post(f"{V1}/network/delete", {"networkId": cloud.get(f"{V1}/networks").rows("networks")[0]["Id"]})
    create(cloud, "d")

    segments = [row["segment"] for row in cloud.get(f"{V1}/networks").rows("networks")]

    assert len(set(segments)) == 3


@pytest.mark.parametrize(
    ("name", "cluster_id"), [("", "us-ca-6"), ("x" * 31, "us-ca-6"), ("vpc", "nowhere"), ("vpc", "oc-au-1")]
)
def test_a_network_that_cannot_be_is_refused(name: str, cluster_id: str) -> None:
    cloud = Cloud()

    answer = create(cloud, name, cluster_id)

    assert (answer.status, answer.reason) == (400, "VALIDATOR_PARAM")
    assert cloud.get(f"{V1}/networks")["total"] == "0"


def test_a_network_is_renamed_within_the_same_limits() -> None:
    cloud = Cloud()
    create(cloud)
    network_id = only_network(cloud)["Id"]

    assert cloud.post(f"{V1}/network/update", {"networkId": network_id, "name": "new"}).body == {}
    assert only_network(cloud)["name"] == "new"
    assert cloud.post(f"{V1}/network/update", {"networkId": network_id, "name": "x" * 31}).status == 400


def test_a_network_with_instances_shows_them_and_cannot_be_deleted() -> None:
    cloud = Cloud()
    create(cloud)
    network_id = str(only_network(cloud)["Id"])
    instance = put_instance(cloud, "a" * 16, Status.RUNNING)
    instance.network_id, instance.network_ip = network_id, "10.1.0.2"

    answer = cloud.post(f"{V1}/network/delete", {"networkId": network_id})

    assert (answer.status, answer.reason) == (400, "DEPENDENT_RESOURCE_STATE")
    assert only_network(cloud)["Addresses"] == [{"Id": "a" * 16, "Ip": "10.1.0.2"}]


def test_a_deleted_network_is_missing_as_a_400() -> None:
    cloud = Cloud()
    create(cloud)
    network_id = str(only_network(cloud)["Id"])

    assert cloud.post(f"{V1}/network/delete", {"networkId": network_id}).body == {}

    gone = cloud.get(f"{V1}/network", {"networkId": network_id})
    assert (gone.status, gone["message"]) == (400, "network not found")
    assert cloud.post(f"{V1}/network/delete", {"networkId": network_id}).status == 400
