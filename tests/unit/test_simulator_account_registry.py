"""Registry credentials of the simulated cloud, through v1's routes.

Each account begins with one pair of credentials, used by its private template.
"""

from dataclasses import replace

import pytest

from ostler.simulator import creation
from tests.support.simulated_account import V1, Cloud, an_order

AUTH = {"name": "registry.example.net", "username": "me", "password": "secret"}


def own_ids(cloud: Cloud) -> list[str]:
    rows = cloud.get(f"{V1}/repository/auths").rows()
    return [str(row["id"]) for row in rows if row["name"] == AUTH["name"]]


def test_saving_answers_no_id_and_the_list_shows_it_with_the_password_in_clear() -> None:
    cloud = Cloud()

    answer = cloud.post(f"{V1}/repository/auth/save", AUTH)

    assert answer.body == {}
    row = cloud.get(f"{V1}/repository/auths").rows()[-1]
    assert row == {**AUTH, "id": row["id"]}
    assert len(str(row["id"])) == 32


def test_two_may_bear_the_same_name() -> None:
    cloud = Cloud()

    for _ in range(2):
        cloud.post(f"{V1}/repository/auth/save", AUTH)

    assert len(set(own_ids(cloud))) == 2


@pytest.mark.parametrize("field", ["name", "username", "password"])
@pytest.mark.parametrize("value", ["", "x" * 501])
def test_each_field_has_its_length(field: str, value: str) -> None:
    answer = Cloud().post(f"{V1}/repository/auth/save", {**AUTH, field: value})

    assert (answer.status, answer.reason) == (400, "VALIDATOR_PARAM")
    assert field in answer.text("message")


def test_deleted_credentials_are_gone() -> None:
    cloud = Cloud()
    cloud.post(f"{V1}/repository/auth/save", AUTH)
    body = {"id": own_ids(cloud)[0]}

    assert cloud.post(f"{V1}/repository/auth/delete", body).body == {}
    assert own_ids(cloud) == []
    assert cloud.post(f"{V1}/repository/auth/delete", body).status == 400


def test_credentials_that_a_template_uses_cannot_be_deleted() -> None:
    cloud = Cloud()
    template = cloud.get(f"{V1}/templates", {"channel": "private"}).rows("template")[0]

    answer = cloud.post(f"{V1}/repository/auth/delete", {"id": template["imageAuth"]})

    assert (answer.status, answer.reason) == (400, "IMAGE_AUTH_IN_USE")


def test_credentials_that_an_instance_uses_cannot_be_deleted_before_it() -> None:
    cloud = Cloud()
    cloud.post(f"{V1}/repository/auth/save", AUTH)
    (auth_id,) = own_ids(cloud)
    instance = creation.create(cloud.world, replace(an_order(cloud), image_auth_id=auth_id))

    assert cloud.post(f"{V1}/repository/auth/delete", {"id": auth_id}).reason == "IMAGE_AUTH_IN_USE"

    cloud.post(f"{V1}/gpu/instance/delete", {"instanceId": instance.id})
    cloud.pass_time(60)
    assert cloud.post(f"{V1}/repository/auth/delete", {"id": auth_id}).status == 200


def test_credentials_of_others_do_not_exist() -> None:
    cloud = Cloud()
    cloud.post(f"{V1}/repository/auth/save", AUTH)
    other = Cloud(cloud.world, "sk_other")

    assert own_ids(other) == []
    assert other.post(f"{V1}/repository/auth/delete", {"id": own_ids(cloud)[0]}).status == 400
