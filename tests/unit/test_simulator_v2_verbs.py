"""The PUT verbs of v2 of the simulated cloud.

Guards and effects are those of v1; here it is tested that each PUT reaches its verb.
"""

import pytest

from ostler.simulator.accounting import set_balance
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.status import Status
from tests.support.simulated_account import V1, V2, Answer, Cloud, put_instance

ID = "a" * 16


@pytest.fixture
def cloud() -> Cloud:
    return Cloud()


def put(cloud: Cloud, verb: str, body: dict[str, object] | None = None) -> Answer:
    return cloud.put(f"{V2}/instances/{ID}/{verb}", body)


def an_instance(cloud: Cloud, status: Status = Status.RUNNING, mode: Mode = Mode.ON_DEMAND) -> Instance:
    set_balance(cloud.world, cloud.account, 10**9)
    return put_instance(cloud, ID, status, mode)


@pytest.mark.parametrize(
    ("verb", "before", "after"),
    [
        ("start", Status.EXITED, Status.TO_START),
        ("stop", Status.RUNNING, Status.TO_STOP),
        ("restart", Status.RUNNING, Status.TO_RESTART),
        ("migrate", Status.RUNNING, Status.MIGRATING),
        ("migrate", Status.EXITED, Status.MIGRATING),
    ],
)
def test_a_verb_without_a_body_answers_an_empty_object_and_takes_effect(
    cloud: Cloud, verb: str, before: Status, after: Status
) -> None:
    instance = an_instance(cloud, before)

    assert put(cloud, verb).body == {}
    assert instance.status is after


@pytest.mark.parametrize(
    ("verb", "status"), [("start", Status.RUNNING), ("stop", Status.EXITED), ("restart", Status.PULLING)]
)
def test_a_verb_in_the_wrong_status_is_refused_in_the_words_of_v1(
    cloud: Cloud, verb: str, status: Status
) -> None:
    instance = an_instance(cloud, status)

    answer = put(cloud, verb)

    assert (answer.status, answer["message"]) == (400, "invalid state change")
    assert instance.status is status


def test_every_verb_answers_404_for_an_unknown_instance(cloud: Cloud) -> None:
    verbs = (
        "start stop restart upgrade migrate renew auto-renew auto-migrate billing-mode ports rootfs-expand"
        " web-terminal"
    )

    assert {put(cloud, verb).status for verb in verbs.split()} == {404}


def test_an_upgrade_replaces_the_image_and_leaves_the_disks(cloud: Cloud) -> None:
    instance = an_instance(cloud)
    volumes = instance.volumes
    body = {"image": "redis:7", "command": "run", "entrypoint": "/sh", "envs": [{"key": "A", "value": "1"}]}

    assert put(cloud, "upgrade", {**body, "save_data": True}).body == {}

    shown = cloud.get(f"{V2}/instances/{ID}")
    assert {key: shown[key] for key in body} == body
    assert instance.status is Status.TO_RESET
    assert instance.volumes is volumes


@pytest.mark.parametrize("body", [{}, {"image": "x" * 501}, {"image": "i", "registry_auth_id": "unknown"}])
def test_an_upgrade_that_cannot_be_is_refused(cloud: Cloud, body: dict[str, object]) -> None:
    instance = an_instance(cloud)

    assert put(cloud, "upgrade", body).status == 400
    assert (instance.status, instance.image_url) == (Status.RUNNING, "novitalabs/ubuntu:22.04")


def test_a_renewal_lengthens_the_term(cloud: Cloud) -> None:
    instance = an_instance(cloud, mode=Mode.MONTHLY)
    before = instance.ends_at

    assert put(cloud, "renew", {"months": 2}).body == {}
    assert instance.ends_at == before + 60 * 86_400


@pytest.mark.parametrize("body", [{}, {"months": 0}, {"months": 13}])
def test_a_renewal_wants_its_months(cloud: Cloud, body: dict[str, object]) -> None:
    an_instance(cloud, mode=Mode.MONTHLY)

    assert put(cloud, "renew", body).status == 400


def test_auto_renewal_is_switched_on_and_off(cloud: Cloud) -> None:
    instance = an_instance(cloud, mode=Mode.MONTHLY)

    put(cloud, "auto-renew", {"auto_renew": {"enabled": True, "months": 3}})
    assert (instance.auto_renew, instance.auto_renew_months) == (True, 3)

    put(cloud, "auto-renew", {"auto_renew": {"enabled": False}})
    assert not instance.auto_renew


def test_auto_migration_is_switched(cloud: Cloud) -> None:
    an_instance(cloud)
    wanted = {"enabled": True, "include_system_disk": False}

    assert put(cloud, "auto-migrate", {"auto_migrate": wanted}).body == {}
    assert cloud.get(f"{V2}/instances/{ID}")["auto_migrate"] == wanted


def test_the_billing_mode_goes_both_ways(cloud: Cloud) -> None:
    instance = an_instance(cloud)

    assert put(cloud, "billing-mode", {"type": "prepaid", "months": 1}).body == {}
    assert instance.mode is Mode.MONTHLY

    assert put(cloud, "billing-mode", {"type": "postpaid"}).body == {}
    assert instance.then_on_demand
    assert put(cloud, "billing-mode", {"type": "spot"}).status == 400


def test_ports_are_replaced(cloud: Cloud) -> None:
    an_instance(cloud)
    put(cloud, "ports", {"ports": [{"port": 80, "protocol": "http"}, {"port": 22, "protocol": "tcp"}]})

    assert put(cloud, "ports", {"ports": [{"port": 8080, "protocol": "tcp"}]}).body == {}

    shown = cloud.get(f"{V1}/gpu/instance", {"instanceId": ID}).rows("portMappings")
    assert [(port["port"], port["type"]) for port in shown] == [(8080, "tcp")]


@pytest.mark.parametrize(
    "port", [{"port": 0, "protocol": "tcp"}, {"port": 2224, "protocol": "tcp"}, {"port": 80}]
)
def test_a_port_that_cannot_be_is_refused(cloud: Cloud, port: dict[str, object]) -> None:
    instance = an_instance(cloud)

    assert put(cloud, "ports", {"ports": [port]}).status == 400
    assert instance.ports == ()


def test_the_system_disk_grows_up_to_the_products_limit(cloud: Cloud) -> None:
    instance = an_instance(cloud)

    assert put(cloud, "rootfs-expand", {"rootfs_size_expand_gb": 10}).body == {}
    assert instance.rootfs_gb == 70
    assert put(cloud, "rootfs-expand", {"rootfs_size_expand_gb": 0}).status == 400
    assert put(cloud, "rootfs-expand", {"rootfs_size_expand_gb": 6144}).status == 400
    assert instance.rootfs_gb == 70


def test_the_web_terminal_is_switched_by_a_key_named_enable(cloud: Cloud) -> None:
    an_instance(cloud)

    def terminal() -> dict[str, object]:
        tools = cloud.get(f"{V2}/instances/{ID}")["tools"]
        assert isinstance(tools, dict)
        shown = tools["web_terminal"]
        assert isinstance(shown, dict)
        return shown

    assert terminal()["enabled"] is True
    assert str(terminal()["endpoint"]).startswith("wss://")
    assert put(cloud, "web-terminal", {"enabled": False}).status == 400

    assert put(cloud, "web-terminal", {"enable": False}).body == {}
    assert terminal() == {"endpoint": "", "enabled": False, "username": "root", "password": ""}


def test_a_stopped_instance_has_no_web_terminal_to_switch(cloud: Cloud) -> None:
    an_instance(cloud, Status.EXITED)

    assert put(cloud, "web-terminal", {"enable": True})["message"] == "invalid state change"
