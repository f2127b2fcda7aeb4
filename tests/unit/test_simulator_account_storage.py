"""Network storages of the simulated cloud, through v1's routes.

Each test begins with the default market and no storage.
"""

import pytest

from ostler.simulator.account.kinds import set_manners
from ostler.simulator.account.manners import Manners
from ostler.simulator.account.network_storage import CreateAnswer
from ostler.simulator.accounting import set_balance
from ostler.simulator.instance import VolumeMount
from ostler.simulator.status import Status
from tests.support.simulated_account import BASIC, V1, Answer, Cloud, put_instance

STORAGE = {"clusterId": "us-ca-6", "storageName": "data", "storageSize": 100}


def create(cloud: Cloud, **fields: object) -> Answer:
    return cloud.post(f"{V1}/networkstorage/create", {**STORAGE, **fields})


def test_creating_answers_with_the_storage_as_seen_live() -> None:
    cloud = Cloud()

    answer = create(cloud)

    assert answer.body == {
        "storageId": answer["storageId"],
        "storageName": "data",
        "storageSize": 100,
        "clusterId": "us-ca-6",
        "clusterName": "US-CA-06 (California)",
        "price": "200",
    }
    assert cloud.get(f"{V1}/networkstorages/list").rows() == [answer.body]


def test_creating_can_be_switched_to_the_bare_id_of_the_documents() -> None:
    cloud = Cloud()
    set_manners(cloud.world, Manners(storage_create=CreateAnswer.STRING))

    answer = create(cloud)

    assert answer.body == cloud.get(f"{V1}/networkstorages/list").rows()[0]["storageId"]


def test_a_size_may_be_written_as_a_string() -> None:
    assert create(Cloud(), storageSize="100")["storageSize"] == 100


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"storageSize": 9}, "VALIDATOR_PARAM"),
        ({"storageSize": 100_000}, "NETWORK_STORAGE_TOO_LARGE"),
        ({"storageName": ""}, "VALIDATOR_PARAM"),
        ({"storageName": "x" * 256}, "VALIDATOR_PARAM"),
        ({"clusterId": "nowhere"}, "VALIDATOR_PARAM"),
        ({"clusterId": "us-ca-3"}, "CUR_CLUSTER_NETWORK_STORAGE_NOT_SUPPORT"),
    ],
)
def test_a_storage_that_cannot_be_is_refused(fields: dict[str, object], reason: str) -> None:
    cloud = Cloud()

    answer = create(cloud, **fields)

    assert (answer.status, answer.reason) == (400, reason)
    assert cloud.get(f"{V1}/networkstorages/list")["total"] == 0


@pytest.mark.parametrize("size", [10, 65_536])
def test_the_smallest_and_the_largest_storage_can_be_made(size: int) -> None:
    assert create(Cloud(), storageSize=size).status == 200


def test_the_limit_is_told_in_the_metadata() -> None:
    assert create(Cloud(), storageSize=100_000)["metadata"] == {"0": "65536"}


@pytest.mark.parametrize(
    ("fields", "seen"),
    [
        ({"storageSize": 150}, ("data", 150)),
        ({"storageSize": 100, "storageName": "renamed"}, ("renamed", 100)),
        ({"storageName": "renamed"}, ("renamed", 100)),
    ],
)
def test_a_storage_grows_and_is_renamed(fields: dict[str, object], seen: tuple[str, int]) -> None:
    cloud = Cloud()
    storage_id = create(cloud)["storageId"]

    answer = cloud.post(f"{V1}/networkstorage/update", {"storageId": storage_id, **fields})

    assert answer.body == {}
    row = cloud.get(f"{V1}/networkstorages/list").rows()[0]
    assert (row["storageName"], row["storageSize"]) == seen


def test_a_storage_never_shrinks() -> None:
    cloud = Cloud()
    storage_id = create(cloud)["storageId"]

    answer = cloud.post(f"{V1}/networkstorage/update", {"storageId": storage_id, "storageSize": 99})

    assert (answer.status, answer.reason) == (400, "VALIDATOR_PARAM")
    assert cloud.get(f"{V1}/networkstorages/list").rows()[0]["storageSize"] == 100


def test_a_mounted_storage_cannot_be_deleted() -> None:
    cloud = Cloud()
    storage_id = create(cloud).text("storageId")
    put_instance(cloud, "a" * 16, Status.EXITED).volumes = (VolumeMount(storage_id, "/network"),)

    answer = cloud.post(f"{V1}/networkstorage/delete", {"storageId": storage_id})

    assert (answer.status, answer.reason) == (400, "NETWORK_STORAGE_IN_USE")


def test_a_deleted_storage_is_gone() -> None:
    cloud = Cloud()
    body = {"storageId": create(cloud)["storageId"]}

    assert cloud.post(f"{V1}/networkstorage/delete", body).body == {}
    assert cloud.get(f"{V1}/networkstorages/list").rows() == []
    assert cloud.post(f"{V1}/networkstorage/delete", body).status == 400


def test_the_list_is_paged_by_page_no_and_ignores_page_num() -> None:
    cloud = Cloud()
    for name in "abc":
        create(cloud, storageName=name)

    second = cloud.get(f"{V1}/networkstorages/list", {"pageNo": "2", "pageSize": "2", "pageNum": "1"})

    assert [row["storageName"] for row in second.rows()] == ["c"]
    assert second["total"] == 3


def test_the_list_is_filtered_by_name_and_id() -> None:
    cloud = Cloud()
    create(cloud, storageName="models")
    storage_id = create(cloud, storageName="data").text("storageId")

    by_name = cloud.get(f"{V1}/networkstorages/list", {"storageName": "MODEL"})
    by_id = cloud.get(f"{V1}/networkstorages/list", {"storageId": storage_id})

    assert [row["storageName"] for row in by_name.rows()] == ["models"]
    assert [row["storageName"] for row in by_id.rows()] == ["data"]


def test_a_storage_costs_by_its_size_to_the_second_as_long_as_it_is_there() -> None:
    cloud = Cloud()
    balance = cloud.world.wallet(cloud.account).balance(cloud.world.now)
    body = {"storageId": create(cloud)["storageId"]}
    cloud.pass_time(43_200)
    cloud.post(f"{V1}/networkstorage/update", {**body, "storageSize": 150})
    cloud.pass_time(86_400)
    cloud.post(f"{V1}/networkstorage/delete", body)
    cloud.pass_time(86_400)

    spent = balance - cloud.world.wallet(cloud.account).balance(cloud.world.now)
    assert spent == 100 * 200 // 2 + 150 * 200
    (line,) = cloud.get(
        f"{BASIC}/billing/bill/list", {"cycleType": "Month", "productCategory": "cloud_storage"}
    ).rows("bills")
    assert (line["ownerID"], line["category"], line["billNum0"]) == (
        body["storageId"],
        "cloud_storage",
        str(43_200 + 86_400),
    )
    assert line["amount"] == cloud.get(f"{BASIC}/billing/monthly/bill").rows()[-1]["totalAmount"] == "4000"


def test_a_storage_is_no_gpu_on_the_bills_but_in_their_sum() -> None:
    cloud = Cloud()
    create(cloud)
    cloud.pass_time(86_400)
    query = {"cycleType": "Month"}
    bills = {
        category: cloud.get(f"{BASIC}/billing/bill/list", {**query, "productCategory": category}).rows(
            "bills"
        )
        for category in ("gpu", "summary", "")
    }

    assert {category: [bill["amount"] for bill in found] for category, found in bills.items()} == {
        "gpu": [],
        "summary": ["2000"],
        "": ["2000"],
    }


def test_an_account_without_money_gets_no_storage() -> None:
    cloud = Cloud()
    set_balance(cloud.world, cloud.account, 0)

    assert create(cloud).reason == "BALANCE_NOT_ENOUGH"


def test_a_storage_alone_can_spend_all_money() -> None:
    cloud = Cloud()
    create(cloud)
    set_balance(cloud.world, cloud.account, 100)
    cloud.pass_time(86_400)

    assert cloud.world.wallet(cloud.account).is_frozen
