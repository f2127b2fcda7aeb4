"""The v1 lists of the simulator's instances: pages, filters, lags; and their verbs over the wire."""

import pytest

from ostler.simulator.instance import Mode
from ostler.simulator.lifecycle import move
from ostler.simulator.seeding import seed
from ostler.simulator.status import Status
from ostler.simulator.verbs import delete, stop
from tests.support.simulated_account import V1, Answer, Cloud
from tests.support.simulator import a_simulated_instance, an_order

CREATE = f"{V1}/gpu/instance/create"
ORDER: dict[str, object] = {
    "name": "demo",
    "productId": "4090.16c62g",
    "gpuNum": 1,
    "rootfsSize": 60,
    "imageUrl": "novitalabs/ubuntu:22.04",
    "kind": "gpu",
    "clusterId": "us-ca-6",
    "ports": "8080/http, 22/tcp",
}
ACCOUNT = "default"


def a_cloud() -> Cloud:
    return Cloud(account=ACCOUNT)


def create(cloud: Cloud, **changed: object) -> Answer:
    body = {key: value for key, value in {**ORDER, **changed}.items() if value is not None}
    return cloud.post(CREATE, body)


def created(cloud: Cloud, **changed: object) -> str:
    answer = create(cloud, **changed)
    assert answer.status == 200, answer.body
    return answer.text("id")


def get(cloud: Cloud, instance_id: str) -> Answer:
    return cloud.get(f"{V1}/gpu/instance", {"instanceId": instance_id})


def names(cloud: Cloud, **query: str) -> list[object]:
    return [row["name"] for row in cloud.get(f"{V1}/gpu/instances", query).rows("instances")]


class TestListing:
    def test_pages_zero_and_one_are_the_first_and_none_at_all_is_ten_rows(self) -> None:
        cloud = a_cloud()
        seed(cloud.world, ACCOUNT, 25, status=Status.RUNNING, name="seeded")

        first = names(cloud, pageSize="10", pageNum="1")

        assert names(cloud) == names(cloud, pageSize="10", pageNum="0") == first
        assert len(first) == 10
        assert len(names(cloud, pageSize="10", pageNum="3")) == 5
        assert names(cloud, pageSize="10", pageNum="4") == []

    def test_the_pages_together_are_the_fleet_newest_first(self) -> None:
        cloud = a_cloud()
        seed(cloud.world, ACCOUNT, 25, status=Status.RUNNING, name="seeded")

        seen = [name for page in "123" for name in names(cloud, pageSize="10", pageNum=page)]

        assert seen == [f"seeded-{number:06d}" for number in reversed(range(25))]
        assert cloud.get(f"{V1}/gpu/instances", {"pageSize": "10"})["total"] == 25

    def test_unknown_parameters_are_ignored(self) -> None:
        cloud = a_cloud()
        seed(cloud.world, ACCOUNT, 12, status=Status.RUNNING, name="seeded")

        assert names(cloud, page="2", page_size="3") == names(cloud)

    def test_filters_are_fuzzy_for_names_and_exact_for_the_status(self) -> None:
        cloud = a_cloud()
        created(cloud, name="Alpha-one")
        created(cloud, name="beta")
        move(cloud.world, cloud.world.instances[created(cloud, name="alpha-two")], Status.EXITED)

        assert names(cloud, name="ALPHA") == ["alpha-two", "Alpha-one"]
        assert names(cloud, name="alpha", status="exited") == ["alpha-two"]
        assert names(cloud, productName="4090") == ["alpha-two", "beta", "Alpha-one"]
        assert names(cloud, productName="H100") == []

    def test_each_account_sees_its_own(self) -> None:
        cloud = a_cloud()
        created(cloud)

        assert names(Cloud(cloud.world, "somebody")) == []

    def test_a_list_may_know_of_a_new_instance_only_later(self) -> None:
        cloud = a_cloud()
        cloud.world.lag.create_s = 8.0
        key = created(cloud)
        early = cloud.get(f"{V1}/gpu/instances")

        assert get(cloud, key).status == 200
        assert (early["instances"], early["total"]) == ([], 0)
        cloud.pass_time(8)

        assert names(cloud) == ["demo"]

    def test_a_list_may_go_on_showing_the_old_status(self) -> None:
        cloud = a_cloud()
        instance = a_simulated_instance(cloud.world)
        with cloud.world.lag.at_least(30.0):
            stop(cloud.world, instance)
        cloud.pass_time(20)

        assert get(cloud, instance.id)["status"] == "exited"
        assert names(cloud, status="running") == ["demo"]
        cloud.pass_time(10)

        assert names(cloud, status="exited") == ["demo"]

    def test_a_removed_instance_may_stay_in_a_lagging_list_though_it_is_not_found(self) -> None:
        cloud = a_cloud()
        instance = a_simulated_instance(cloud.world)
        with cloud.world.lag.at_least(60.0):
            delete(cloud.world, instance)
        cloud.pass_time(30)

        assert get(cloud, instance.id).status == 404
        assert names(cloud) == ["demo"]
        cloud.pass_time(40)

        assert names(cloud) == []


class TestVerbsOverTheWire:
    @pytest.mark.parametrize(
        ("verb", "status", "state"),
        [
            ("start", Status.EXITED, "toStart"),
            ("stop", Status.RUNNING, "toStop"),
            ("restart", Status.RUNNING, "toRestart"),
            ("delete", Status.RUNNING, "toRemove"),
            ("migrate", Status.RUNNING, "migrating"),
        ],
    )
    def test_a_verb_answers_with_the_id_and_the_new_state(
        self, verb: str, status: Status, state: str
    ) -> None:
        cloud = a_cloud()
        instance = a_simulated_instance(cloud.world, status)

        answer = cloud.post(f"{V1}/gpu/instance/{verb}", {"instanceId": instance.id})

        assert answer.body == {"instanceId": instance.id, "state": state}

    def test_edit_upgrade_and_settings_answer_nothing(self) -> None:
        cloud = a_cloud()
        instance = a_simulated_instance(cloud.world)
        bodies: dict[str, dict[str, object]] = {
            "edit": {"ports": [{"port": 9000, "type": "tcp"}], "expandRootDisk": 10},
            "setAutoMigrate": {"autoMigrateOpen": False, "autoMigrateSystemDisk": False},
            "transToMonthlyInstance": {"month": 1},
            "renewInstance": {"month": 1},
            "upgrade": {
                "imageUrl": "other/image:2",
                "imageAuthId": "",
                "envs": [],
                "command": "",
                "entrypoint": "",
                "save": True,
                "networkVolume": {"volumeMounts": []},
            },
        }

        answers = [
            cloud.post(f"{V1}/gpu/instance/{verb}", {"instanceId": instance.id, **body})
            for verb, body in bodies.items()
        ]

        assert [answer.body for answer in answers] == [{}] * len(bodies)
        assert (instance.mode, instance.auto_migrate, instance.image_url) == (
            Mode.MONTHLY,
            False,
            "other/image:2",
        )

    def test_auto_renewal_is_set_for_several_at_once_or_for_none(self) -> None:
        cloud = a_cloud()
        monthly = a_simulated_instance(cloud.world, Status.RUNNING, Mode.MONTHLY)
        body = {"instanceIds": [monthly.id], "autoRenew": True, "autoRenewMonth": 3}

        good = cloud.post(f"{V1}/gpu/instance/setAutoRenew", body)
        bad = cloud.post(f"{V1}/gpu/instance/setAutoRenew", {"instanceIds": [], "autoRenew": True})

        assert good.body == {}
        assert (monthly.auto_renew, monthly.auto_renew_months) == (True, 3)
        assert (bad.status, bad.reason) == (400, "VALIDATOR_PARAM")

    def test_a_verb_without_an_id_is_refused(self) -> None:
        answer = a_cloud().post(f"{V1}/gpu/instance/stop", {})

        assert (answer.status, answer.reason) == (400, "VALIDATOR_PARAM")

    def test_an_order_of_the_support_module_is_one_that_the_wire_accepts(self) -> None:
        cloud = a_cloud()
        order = an_order()

        body = get(cloud, created(cloud, name=order.name, productId=order.product_id))

        assert body["productName"] == "RTX 4090 24GB"
