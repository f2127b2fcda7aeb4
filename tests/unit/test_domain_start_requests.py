"""Bodies of a start: as earlier clients send them, and what is wrong with others."""

from datetime import timedelta

import pytest

from ostler.domain.errors import RequestInvalid
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.requests import Defaults
from ostler.domain.start_requests import StartRequest, parse_start


def test_a_start_as_earlier_clients_send_it() -> None:
    body = {
        "healthCheckConfig": {
            "timeoutMs": 5000,
            "retryAttempts": 2,
            "retryDelayMs": 500,
            "maxWaitTimeMs": 60_000,
            "targetPort": 80,
        },
        "targetPort": 8080,
        "webhookUrl": "http://127.0.0.1:9/hook",
    }
    assert parse_start(body, Defaults()) == StartRequest(
        health=HealthPolicy(
            target_port=8080,
            timeout=timedelta(seconds=5),
            retry_attempts=2,
            retry_delay=timedelta(milliseconds=500),
            max_wait=timedelta(minutes=1),
        ),
        webhook_url="http://127.0.0.1:9/hook",
    )


def test_a_start_that_says_nothing_leaves_the_check_to_the_defaults() -> None:
    assert parse_start({}, Defaults()) == StartRequest()
    assert parse_start({"targetPort": 80}, Defaults()).health == HealthPolicy(target_port=80)


def test_a_start_may_refuse_the_check() -> None:
    request = parse_start({"healthCheckConfig": False, "targetPort": 80}, Defaults())
    assert request.is_check_refused
    assert request.health is None


def test_a_start_by_name_needs_the_name_and_a_start_by_id_refuses_it() -> None:
    assert parse_start({"instanceName": "demo"}, Defaults(), by_name=True).instance_name == "demo"
    for body, by_name, code in (
        ({}, True, "INVALID_INSTANCE_NAME"),
        ({"instanceName": "demo"}, False, "UNKNOWN_FIELD"),
    ):
        with pytest.raises(RequestInvalid) as refused:
            parse_start(body, Defaults(), by_name=by_name)
        assert [(error.field, error.code.value) for error in refused.value.errors] == [("instanceName", code)]


def test_every_wrong_field_of_a_start_is_told_at_once() -> None:
    body = {"healthCheckConfig": {"timeoutMs": "5"}, "targetPort": 70_000, "webhookUrl": "x", "force": True}
    with pytest.raises(RequestInvalid) as refused:
        parse_start(body, Defaults())
    assert {error.field for error in refused.value.errors} == {
        "healthCheckConfig.timeoutMs",
        "targetPort",
        "webhookUrl",
        "force",
    }
    assert "targetPort must be a whole number from 1 to 65535" in str(refused.value)
