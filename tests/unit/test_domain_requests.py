"""Bodies of create and start: what is accepted, and that every wrong field is told at once."""

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.domain.catalogue import BillingMode
from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import FieldError
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.money import Usd
from ostler.domain.requests import CREATE_FIELDS, CreateRequest, Defaults, parse_create, wrong_regions
from ostler.domain.spec import InstanceSpec, Limits, OnFailure, OnLimit, OnReclaim
from tests.support.builders import a_create_body, a_region

DEFAULTS = Defaults(HealthPolicy(retry_attempts=7), timedelta(seconds=77))
MONTHLY = {"billingMode": "monthly", "months": 2, "confirmPrepaid": True}


def created(**changes: object) -> InstanceSpec:
    return parse_create(a_create_body(**changes), DEFAULTS).spec


def wrong(**changes: object) -> dict[str, FieldError]:
    with pytest.raises(RequestInvalid) as refused:
        parse_create(a_create_body(**changes), DEFAULTS)
    return {error.field: error for error in refused.value.errors}


def refusals(body: dict[str, object]) -> tuple[FieldError, ...]:
    try:
        parse_create(body, DEFAULTS)
    except RequestInvalid as refused:
        return refused.errors
    return ()


def codes(errors: dict[str, FieldError]) -> dict[str, str]:
    return {name: error.code.value for name, error in errors.items()}


def test_the_least_that_is_needed_gets_the_designs_defaults() -> None:
    assert parse_create(a_create_body(), DEFAULTS) == CreateRequest(
        InstanceSpec(
            name="demo",
            product_name="RTX 4090 24GB",
            template_id="12",
            gpus=1,
            rootfs_gb=None,
            billing_mode=BillingMode.SPOT,
            on_failure=OnFailure.DELETE,
            on_reclaim=OnReclaim.MIGRATE,
            health=None,
            startup_timeout=timedelta(seconds=77),
            give_up_after=timedelta(hours=24),
        )
    )


def test_everything_that_may_be_said_is_read() -> None:
    body = a_create_body(
        gpuNum=8,
        rootfsSize=1000,
        region="us-ca-6",
        regions=["CN-HK-01", "as-in-1"],
        webhookUrl="https://hooks.example.test/x?y=1",
        billingMode="onDemand",
        maxPricePerHour=1.25,
        ttlSeconds=3600,
        maxCost=10,
        onLimit="delete",
        idleStopMinutes=15,
        onFailure="keep",
        onReclaim="recreate",
        healthCheck={"path": "/up", "expectStatus": [200, 204], "intervalSeconds": 0},
        startupTimeoutSeconds=120,
        envs={"TOKEN": "hush"},
        project="lab",
        labels={"team": "a"},
        retryUntilAvailable=True,
        giveUpAfterSeconds=600,
        dryRun=True,
    )
    assert set(body) | {"months", "confirmPrepaid"} == CREATE_FIELDS
    request = parse_create(body, DEFAULTS)
    assert request.is_dry_run
    assert request.spec == InstanceSpec(
        name="demo",
        product_name="RTX 4090 24GB",
        template_id="12",
        gpus=8,
        rootfs_gb=1000,
        region="us-ca-6",
        regions=("CN-HK-01", "as-in-1"),
        webhook_url="https://hooks.example.test/x?y=1",
        billing_mode=BillingMode.ON_DEMAND,
        max_price_per_hour=Usd(125_000),
        limits=Limits(timedelta(hours=1), Usd(1_000_000), OnLimit.DELETE, timedelta(minutes=15)),
        on_failure=OnFailure.KEEP,
        on_reclaim=OnReclaim.RECREATE,
        health=HealthPolicy(
            path="/up", expect_status=frozenset({200, 204}), interval=timedelta(), retry_attempts=7
        ),
        startup_timeout=timedelta(minutes=2),
        envs={"TOKEN": "hush"},
        project="lab",
        labels={"team": "a"},
        retry_until_available=True,
        give_up_after=timedelta(minutes=10),
    )


WRONG: dict[str, tuple[str, list[object]]] = {
    "name": ("INVALID_INSTANCE_NAME", ["", "with space", "ü", "x" * 101, 7, True, "a.b", "a\n"]),
    "productName": ("INVALID_PRODUCT_NAME", ["", "  ", 4090, "x" * 256, ["RTX"]]),
    "templateId": ("INVALID_TEMPLATE_ID", ["", "a b", 0, -1, 1.5, True, [1], "x" * 256, 2**63, 1e300]),
    "gpuNum": ("INVALID_GPU_NUM", [0, 9, "1", 1.5, True]),
    "rootfsSize": ("INVALID_ROOTFS_SIZE", [9, 1001, "60", 60.5]),
    "region": ("INVALID_REGION", ["", 1, ["a"]]),
    "regions": ("INVALID_REGION", [[], ["a", ""], "some", 1, ["a"] * 33, {"a": 1}]),
    "webhookUrl": (
        "INVALID_WEBHOOK_URL",
        ["", "hooks", "ftp://a.test", "https://", "https://a b.test", "http://a:99999", "http://[::1", 1,
         "https://a.test/" + "x" * 2048],
    ),
    "billingMode": ("INVALID_BILLING_MODE", ["Spot", "prepaid", 1, ""]),
    "months": ("INVALID_MONTHS", [1, 0, "1"]),
    "maxPricePerHour": ("INVALID_PRICE_CAP", [0, -1, "1", 0.000001, True, 1e9, float("inf"), float("nan")]),
    "ttlSeconds": ("INVALID_LIMIT", [59, 31_536_001, "1h"]),
    "maxCost": ("INVALID_LIMIT", [0, "5", -0.5]),
    "onLimit": ("INVALID_LIMIT", ["pause", 1]),
    "idleStopMinutes": ("INVALID_LIMIT", [0, 43_201]),
    "onFailure": ("INVALID_POLICY", ["retry", 1]),
    "onReclaim": ("INVALID_POLICY", ["delete", 1]),
    "healthCheck": ("INVALID_HEALTH_CHECK", ["yes", 1, []]),
    "startupTimeoutSeconds": ("INVALID_TIMEOUT", [9, 86_401]),
    "giveUpAfterSeconds": ("INVALID_TIMEOUT", [59, 2_592_001]),
    "envs": ("INVALID_ENVS", [{"": "x"}, {"A=B": "x"}, {"A": 1}, [{"key": "A"}], "A=1", {"A": "x" * 4096},
                              [{"key": "A", "value": "1"}, {"key": "A", "value": "2"}],
                              {f"K{n}": "" for n in range(101)}]),
    "project": ("INVALID_PROJECT", ["", "-lab", "x" * 64, 1]),
    "labels": ("INVALID_LABELS", [{"": "x"}, {"a": 1}, ["a"], {f"k{n}": "" for n in range(33)}]),
    "confirmPrepaid": ("INVALID_FLAG", ["yes", 1]),
    "retryUntilAvailable": ("INVALID_FLAG", ["true", 0]),
    "dryRun": ("INVALID_FLAG", [1, "no"]),
}  # fmt: skip


def test_every_field_has_wrong_values_to_try() -> None:
    assert set(WRONG) == CREATE_FIELDS


@pytest.mark.parametrize(
    ("name", "code", "value"),
    [(name, code, value) for name, (code, values) in WRONG.items() for value in values],
)
def test_a_wrong_value_is_refused_under_its_own_code(name: str, code: str, value: object) -> None:
    errors = wrong(**{name: value})
    assert codes(errors) == {name: code}
    assert errors[name].message


@pytest.mark.parametrize("name", ["name", "productName", "templateId"])
def test_what_is_required_is_refused_when_it_is_absent(name: str) -> None:
    errors = wrong(**{name: None})
    assert codes(errors) == {name: WRONG[name][0]}


def test_every_wrong_field_is_told_at_once() -> None:
    errors = wrong(**{name: values[0] for name, (_, values) in WRONG.items()}, colour="red")
    assert codes(errors) == {name: code for name, (code, _) in WRONG.items()} | {"colour": "UNKNOWN_FIELD"}


def test_null_counts_as_absent() -> None:
    body = a_create_body() | dict.fromkeys(CREATE_FIELDS - {"name", "productName", "templateId"})
    assert parse_create(body, DEFAULTS) == parse_create(a_create_body(), DEFAULTS)


def test_an_unknown_field_is_refused_by_name_with_the_nearest_one() -> None:
    errors = wrong(gpuNumber=2, zzz=1)
    assert codes(errors) == {"gpuNumber": "UNKNOWN_FIELD", "zzz": "UNKNOWN_FIELD"}
    assert "did you mean 'gpuNum'" in errors["gpuNumber"].message
    assert "known: " in errors["zzz"].message
    assert errors["gpuNumber"].value == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"envs": {"A": 1, "SECRET": "hush"}},
        {"envs": [{"key": "A", "value": "hush", "extra": 1}]},
        {"env": {"A": "hush"}},
        {"apiKey": "hush"},
        {"labels": {"a": ["hush"]}},
        {"webhookUrl": "ftp://user:hush@a.test"},
    ],
)
def test_no_error_repeats_what_may_be_secret(changes: dict[str, object]) -> None:
    told = [(error.field, error.message, error.value) for error in wrong(**changes).values()]
    assert told
    assert "hush" not in json.dumps(told)


def test_secrets_do_not_show_in_the_repr_of_a_spec() -> None:
    spec = created(envs={"A": "hush"}, webhookUrl="https://a.test/hush")
    assert "hush" not in repr(spec)


def test_a_long_value_is_cut() -> None:
    value = wrong(name="x" * 5000)["name"].value
    assert isinstance(value, str)
    assert len(value) < 300


@pytest.mark.parametrize(("given_id", "kept"), [("abc-1", "abc-1"), (107672, "107672")])
def test_a_template_id_is_a_text_or_a_positive_number(given_id: object, kept: str) -> None:
    assert created(templateId=given_id).template_id == kept


@given(st.from_regex(r"[A-Za-z0-9_-]{1,100}", fullmatch=True))
def test_every_allowed_name_is_accepted(name: str) -> None:
    assert created(name=name).name == name


def test_envs_may_be_given_as_the_clouds_list() -> None:
    assert created(envs=[{"key": "A", "value": "1"}, {"key": "B", "value": ""}]).envs == {"A": "1", "B": ""}


def test_regions_may_be_any() -> None:
    spec = created(regions="any")
    assert spec.is_anywhere
    assert spec.regions is None


def test_monthly_needs_months_and_a_confirmation() -> None:
    assert codes(wrong(billingMode="monthly")) == {
        "months": "INVALID_MONTHS",
        "confirmPrepaid": "PREPAID_NOT_CONFIRMED",
    }
    spec = created(**MONTHLY)
    assert (spec.billing_mode, spec.months) == (BillingMode.MONTHLY, 2)
    assert spec.on_failure is OnFailure.KEEP


def test_a_prepaid_instance_refuses_brakes_that_delete() -> None:
    errors = wrong(**MONTHLY, onLimit="delete", onFailure="delete")
    assert codes(errors) == {"onLimit": "INVALID_LIMIT", "onFailure": "INVALID_POLICY"}
    assert created(**MONTHLY, onFailure="stop").on_failure is OnFailure.STOP


@pytest.mark.parametrize(("asked", "expected"), [(True, DEFAULTS.health), (False, None)])
def test_a_check_on_create_is_only_on_request(asked: object, expected: HealthPolicy | None) -> None:
    assert created(healthCheck=asked).health == expected


def test_what_is_wrong_inside_a_health_check_is_named_with_its_path() -> None:
    inner = {
        "targetPort": 0,
        "path": "up",
        "expectStatus": 500,
        "timeoutMs": 1,
        "retryAttempts": 0,
        "retryDelayMs": 1,
        "maxWaitTimeMs": 1,
        "intervalSeconds": -1,
        "retries": 2,
    }
    errors = wrong(healthCheck=inner)
    assert codes(errors) == {
        f"healthCheck.{name}": "UNKNOWN_FIELD" if name == "retries" else "INVALID_HEALTH_CHECK"
        for name in inner
    }


def test_regions_that_the_cloud_does_not_have_are_named_one_by_one() -> None:
    spec = created(region="nowhere", regions=["US-CA-6", "neverland"])
    errors = {error.field: error for error in wrong_regions(spec, [a_region("us-ca-6")])}
    assert codes(errors) == {"region": "INVALID_REGION", "regions[1]": "INVALID_REGION"}
    assert "US-CA-6" in errors["region"].message
    assert errors["region"].value == "nowhere"
    assert wrong_regions(created(), []) == ()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(CREATE_FIELDS)) | st.text(), json_values))
def test_any_json_object_is_read_or_refused_field_by_field(body: dict[str, object]) -> None:
    errors = refusals(body)
    assert all(error.message for error in errors)
    assert errors or parse_create(body, DEFAULTS).spec.name
