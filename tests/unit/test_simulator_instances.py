"""The v1 face of the simulator's instances: limits and words of a create, lists and their pages, live
types.
"""

import pytest

from tests.support.simulated_account import V1, Answer, Cloud
from tests.support.simulator import a_simulated_instance

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


class TestCreating:
    def test_an_id_has_sixteen_hexadecimal_digits(self) -> None:
        key = created(a_cloud())

        assert len(key) == 16
        assert int(key, 16) >= 0

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"productId": None}, "productId"),
            ({"productId": "x" * 256}, "productId"),
            ({"gpuNum": 0}, "gpuNum"),
            ({"gpuNum": 9}, "gpuNum"),
            ({"gpuNum": "many"}, "gpuNum"),
            ({"rootfsSize": 6_145}, "rootfsSize"),
            ({"rootfsSize": None}, "rootfsSize"),
            ({"rootfsSize": -1}, "rootfsSize"),
            ({"imageUrl": ""}, "imageUrl"),
            ({"imageUrl": "x" * 501}, "imageUrl"),
            ({"kind": "tpu"}, "kind"),
            ({"kind": None}, "kind"),
            ({"name": "x" * 256}, "name"),
            ({"name": 7}, "name"),
            ({"ports": "8080"}, "ports"),
            ({"ports": "8080/udp"}, "ports"),
            ({"ports": "70000/tcp"}, "ports"),
            ({"ports": "0/tcp"}, "ports"),
            ({"ports": "2222/tcp"}, "ports"),
            ({"ports": "2223/http"}, "ports"),
            ({"ports": "2224/tcp"}, "ports"),
            ({"ports": ",".join(f"{port}/http" for port in range(8000, 8016))}, "ports"),
            ({"envs": [{"key": "k", "value": "v"}] * 101}, "envs"),
            ({"envs": [{"key": "", "value": "v"}]}, "envs[0].key"),
            ({"envs": [{"key": "k" * 512, "value": "v"}]}, "envs[0].key"),
            ({"envs": [{"key": "k", "value": "v" * 4_096}]}, "envs[0].value"),
            ({"envs": "A=1"}, "envs"),
            ({"tools": [{"name": "Jupyter", "port": "99999", "type": "http"}]}, "tools[0].port"),
            ({"tools": [{"name": "Jupyter", "port": "2224", "type": "http"}]}, "tools[0].port"),
            ({"imageAuth": "x" * 10_240}, "imageAuth"),
            ({"command": "x" * 2_048}, "command"),
            ({"entrypoint": "x" * 2_048}, "entrypoint"),
            ({"billingMode": "yearly"}, "billingMode"),
            ({"month": -1}, "month"),
            ({"networkStorages": [{"mountPoint": "/data"}]}, "networkStorages[0].Id"),
        ],
        ids=lambda value: str(value)[:40],
    )
    def test_what_breaks_a_limit_is_refused_by_its_name(self, changed: dict[str, object], field: str) -> None:
        cloud = a_cloud()

        answer = create(cloud, **changed)

        assert (answer.status, answer.reason) == (400, "VALIDATOR_PARAM")
        assert field in answer.text("message")
        assert cloud.world.instances == {}

    @pytest.mark.parametrize("size", [0, 1, 9])
    def test_a_small_disk_becomes_ten_gigabytes(self, size: int) -> None:
        cloud = a_cloud()

        assert get(cloud, created(cloud, rootfsSize=size))["rootfsSize"] == 10

    def test_what_the_cloud_does_not_know_is_ignored(self) -> None:
        cloud = a_cloud()

        body = get(cloud, created(cloud, env=[{"key": "A", "value": "1"}], cpuNum=99, diskSize=5))

        assert body["envs"] == []
        assert body["cpuNum"] == "16"

    def test_months_make_it_monthly_whatever_the_mode(self) -> None:
        cloud = a_cloud()

        body = get(cloud, created(cloud, month=1, billingMode="spot"))

        assert body["billingMode"] == "monthly"
        assert body["endTime"] != "-1"

    def test_names_may_be_used_twice(self) -> None:
        cloud = a_cloud()

        assert created(cloud) != created(cloud)
        assert names(cloud) == ["demo", "demo"]

    def test_a_cpu_machine_needs_neither_gpus_nor_disk(self) -> None:
        cloud = a_cloud()

        key = created(cloud, kind="cpu", productId="cpu.4c8g", gpuNum=None, rootfsSize=None, envs=[])

        body = get(cloud, key)
        assert (body["kind"], body["gpuNum"], body["cpuNum"], body["memory"]) == ("cpu", "0", "4", "8")
        assert body["gpuIds"] == []

    def test_several_gpus_multiply_processors_and_memory(self) -> None:
        cloud = a_cloud()

        body = get(cloud, created(cloud, gpuNum=4))

        assert (body["gpuNum"], body["cpuNum"], body["memory"]) == ("4", "64", "248")


class TestShowing:
    def test_ports_and_shell_are_reached_only_while_it_runs(self) -> None:
        cloud = a_cloud()
        key = created(cloud)
        before = get(cloud, key)
        cloud.pass_time(60)
        running = get(cloud, key)

        assert [port["endpoint"] for port in before.rows("portMappings")] == ["", ""]
        assert before["connectComponentSSH"] == {"sshCommand": "", "password": "", "isRunning": False}
        assert running.rows("portMappings")[0]["endpoint"] == (
            f"https://{key}-8080.us-ca-6.gpu-instance.novita.ai"
        )
        assert "ssh -p " in str(running["connectComponentSSH"])

    def test_jupyter_is_reached_where_the_tool_was_asked_for(self) -> None:
        cloud = a_cloud()
        key = created(cloud, tools=[{"name": "Jupyter", "port": "8888", "type": "http"}])
        cloud.pass_time(60)

        assert get(cloud, key)["connectComponentJupyter"] == {
            "port": 8888,
            "address": f"https://{key}-8888.us-ca-6.gpu-instance.novita.ai",
            "isRunning": True,
        }

    def test_instants_are_strings_and_never_is_a_zero(self) -> None:
        cloud = a_cloud()
        body = get(cloud, created(cloud))

        assert (body["lastStartedAt"], body["lastStoppedAt"], body["spotReclaimTime"]) == ("0", "0", "0")
        assert body["createdAt"] == str(int(cloud.world.now))
        assert (body["endTime"], body["useTime"], body["instancePrice"]) == ("-1", "0", "35000")

    def test_use_time_counts_the_run_that_goes_on(self) -> None:
        cloud = a_cloud()
        instance = a_simulated_instance(cloud.world)

        cloud.pass_time(90)

        assert get(cloud, instance.id)["useTime"] == "90"

    def test_rows_of_a_list_have_neither_connections_nor_endpoints(self) -> None:
        cloud = a_cloud()
        a_simulated_instance(cloud.world)

        row = cloud.get(f"{V1}/gpu/instances").rows("instances")[0]

        assert row["portMappings"] == [{"port": 8080, "type": "http"}, {"port": 22, "type": "tcp"}]
        assert not [key for key in row if key.startswith("connectComponent")]

    def test_a_removed_instance_is_not_found(self) -> None:
        cloud = a_cloud()
        instance = a_simulated_instance(cloud.world)
        cloud.post(f"{V1}/gpu/instance/delete", {"instanceId": instance.id})
        cloud.pass_time(60)

        answer = get(cloud, instance.id)

        assert (answer.status, answer.reason) == (404, "RESOURCE_NOT_FOUND")
        assert names(cloud) == []
