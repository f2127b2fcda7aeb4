"""The documented bodies and the parsers of the domain agree, and the API's document is whole.

Bodies are drawn from the document by Schemathesis and near-misses of them are judged by both sides. What no
JSON schema can say is left out of the comparison and named at `comparable`.
"""

import json
import re
from collections.abc import Callable, Mapping

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import assume, given
from hypothesis import strategies as st

from ostler.api.app import Layers, application
from ostler.api.routes.instance_bodies import (
    ByNameBody,
    CreateBody,
    HealthCheckBody,
    MigrateBody,
    PatchBody,
    StartBody,
    StartByNameBody,
)
from ostler.assembly.web import _ROUTES
from ostler.clock import SystemClock
from ostler.domain import health_requests, patch_requests, start_requests
from ostler.domain.errors import RequestInvalid
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.money import Usd
from ostler.domain.patch_requests import parse_patch
from ostler.domain.requests import CREATE_FIELDS, Defaults, parse_create
from ostler.domain.start_requests import parse_start
from ostler.settings_fleet import FleetSettings
from ostler.telemetry.metrics import Metrics
from tests.support.builders import a_create_body
from tests.support.gates import a_porch

HEALTH = HealthPolicy()
MONEY = {"maxPricePerHour", "maxCost"}
Body = dict[str, object]
Parser = Callable[[Mapping[str, object]], object]


def document() -> dict[str, object]:
    clock = SystemClock()
    porch = a_porch(clock)
    layers = Layers(porch.gate, porch.journal, clock, Metrics("0"))
    return application([module.router for module in _ROUTES], layers).openapi()


DOCUMENT = document()
OPERATIONS = schemathesis.openapi.from_dict(DOCUMENT)
PARSERS: Mapping[tuple[str, str], Parser] = {
    ("/api/instances", "POST"): lambda body: parse_create(body, Defaults(HEALTH)),
    ("/api/instances/{instance_id}/start", "POST"): lambda body: parse_start(body, Defaults(HEALTH)),
    ("/api/instances/start", "POST"): lambda body: parse_start(body, Defaults(HEALTH), by_name=True),
    ("/api/instances/{instance_id}", "PATCH"): parse_patch,
}
every_parser = pytest.mark.parametrize("route", PARSERS, ids=" ".join)


def accepts(parse: Parser, body: Mapping[str, object]) -> bool:
    try:
        parse(body)
    except RequestInvalid:
        return False
    return True


def drawn(route: tuple[str, str]) -> st.SearchStrategy[Body]:
    """Draw bodies that the document allows."""
    path, method = route
    cases = OPERATIONS[path][method].as_strategy()
    return cases.map(lambda case: case.body if isinstance(case.body, dict) else {}).map(comparable)


def comparable(body: Mapping[str, object]) -> Body:
    """Put right what no schema can say: cents that are whole, hosts in URLs, names that are given once.

    And what the dialect of JSON Schema sees otherwise: to it 2.0 is a whole number.
    """
    said = {name: value if name in MONEY else whole(value) for name, value in body.items()}
    for name in MONEY & set(said):
        amount = said[name]
        if isinstance(amount, float):
            said[name] = max(round(amount, 5), 0.00001)
    if said.get("webhookUrl") is not None:
        said["webhookUrl"] = "https://hooks.example.test/x"
    if isinstance(envs := said.get("envs"), list):
        said["envs"] = list({_key(pair): pair for pair in envs}.values())
    return said


def whole(value: object) -> object:
    """Return a value with its whole numbers written as such, however deep."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case dict():
            return {name: whole(each) for name, each in value.items()}
        case list():
            return [whole(each) for each in value]
        case _:
            return value


def within(whole: object, *steps: str) -> Mapping[str, object]:
    """Return a part of the document."""
    for step in steps:
        assert isinstance(whole, Mapping)
        whole = whole[step]
    assert isinstance(whole, Mapping)
    return whole


def schema_of(route: tuple[str, str]) -> dict[str, object]:
    path, method = route
    steps = (path, method.lower(), "requestBody", "content", "application/json", "schema")
    return {**within(DOCUMENT, "paths", *steps), "components": DOCUMENT["components"]}


VALIDATORS = {route: jsonschema_rs.Draft202012Validator(schema_of(route)) for route in PARSERS}
EDGES = (1, 8, 10, 12, 60, 100, 399, 1000, 32_767, 43_200, 65_535, 86_400, 300_000, 2_592_000, 31_536_000)
NUMBERS = st.builds(lambda edge, step: edge + step, st.sampled_from(EDGES), st.sampled_from((-1, 0, 1)))
WORDS = ("any", "monthly", "delete", "keep", "none", "admin", "/up", "ftp://a.test", "a/b", "-a", "a=b", "é")
ODD = ("", " ", "a b", "a\n", "\x00", "a" * 63, "a" * 64, "a" * 101, "x" * 256)
TEXTS = st.text(st.characters(codec="latin-1"), max_size=5) | st.sampled_from((*WORDS, *ODD))
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS | st.sampled_from([0.5, 1.5])
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.dictionaries(TEXTS, SCALARS, max_size=2)


@every_parser
def test_what_the_document_allows_is_accepted(route: tuple[str, str]) -> None:
    @given(drawn(route))
    def agree(body: Body) -> None:
        PARSERS[route](body)

    agree()


@every_parser
def test_a_field_changed_at_will_is_judged_alike_by_both(route: tuple[str, str]) -> None:
    validator = VALIDATORS[route]
    names = sorted(within(schema_of(route), "properties"))

    @given(drawn(route), st.sampled_from(names), VALUES)
    def agree(body: Body, name: str, value: object) -> None:
        changed = comparable(body | {name: value}) if name != "webhookUrl" else body | {name: value}
        assume(not (name == "webhookUrl" and validator.is_valid(changed)))
        assert accepts(PARSERS[route], changed) == validator.is_valid(changed)

    agree()


@pytest.mark.parametrize("config", ["healthCheckConfig", "healthCheck"])
@given(
    name=st.sampled_from(sorted(HealthCheckBody.model_json_schema(by_alias=True)["properties"])), value=VALUES
)
def test_health_settings_are_judged_alike_by_both(config: str, name: str, value: object) -> None:
    is_create = config == "healthCheck"
    path = "/api/instances" if is_create else "/api/instances/{instance_id}/start"
    body: Body = {"name": "a", "productName": "b", "templateId": 1} if is_create else {}
    body[config] = {name: value}
    assert accepts(PARSERS[path, "POST"], body) == VALIDATORS[path, "POST"].is_valid(body)


@every_parser
def test_a_field_left_out_or_unknown_is_judged_alike_by_both(route: tuple[str, str]) -> None:
    validator = VALIDATORS[route]

    @given(drawn(route), st.data())
    def agree(body: Body, data: st.DataObject) -> None:
        gone = data.draw(st.sampled_from(sorted(body))) if body else ""
        less = {name: value for name, value in body.items() if name != gone}
        assert accepts(PARSERS[route], less) == validator.is_valid(less)
        assert not accepts(PARSERS[route], body | {"gpunum": 1})
        assert not validator.is_valid(body | {"gpunum": 1})

    agree()


@pytest.mark.parametrize(
    ("model", "known"),
    [
        (CreateBody, CREATE_FIELDS),
        (StartBody, start_requests._KNOWN),
        (StartByNameBody, (*start_requests._KNOWN, "instanceName")),
        (PatchBody, patch_requests._KNOWN),
        (HealthCheckBody, health_requests._KNOWN),
        (ByNameBody, ("instanceName",)),
        (MigrateBody, ("acceptDataLoss",)),
    ],
)
def test_both_know_the_same_fields(model: type[CreateBody], known: tuple[str, ...]) -> None:
    assert set(model.model_json_schema(by_alias=True)["properties"]) == set(known)


def test_defaults_in_the_document_are_those_that_are_used() -> None:
    least: Body = {"name": "a", "productName": "b", "templateId": 1}
    properties = CreateBody.model_json_schema(by_alias=True)["properties"]
    stated = {name: rule["default"] for name, rule in properties.items() if "default" in rule}
    assert parse_create(least | stated, Defaults(HEALTH)) == parse_create(least, Defaults(HEALTH))


@pytest.mark.parametrize(
    ("field", "setting"),
    [
        ("timeout_ms", "health_check_timeout_ms"),
        ("retry_attempts", "health_check_retry_attempts"),
        ("retry_delay_ms", "health_check_retry_delay_ms"),
        ("max_wait_time_ms", "health_check_max_wait_ms"),
    ],
)
def test_a_request_may_ask_for_what_the_settings_may_say(field: str, setting: str) -> None:
    asked, said = HealthCheckBody.model_fields[field], FleetSettings.model_fields[setting]
    assert asked.metadata == said.metadata


def test_a_cap_finer_than_is_counted_is_never_exceeded() -> None:
    third: Body = {"name": "a", "productName": "b", "templateId": 1, "maxPricePerHour": 1 / 3}
    assert parse_create(third, Defaults(HEALTH)).spec.max_price_per_hour == Usd.of("0.33333")


def test_the_document_is_a_valid_one() -> None:
    assert OPERATIONS.validate() is None
    for schema in within(DOCUMENT, "components", "schemas").values():
        jsonschema_rs.meta.validate(dict(within(schema)))


def test_every_reference_in_the_document_leads_somewhere() -> None:
    references = set(re.findall(r'"\$ref": ?"([^"]+)"', json.dumps(DOCUMENT)))
    assert len(references) > 20
    for reference in references:
        place: object = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            assert isinstance(place, Mapping)
            assert step in place, reference
            place = place[step]


def test_the_document_names_both_ways_in_and_the_total_of_a_list() -> None:
    listing = within(DOCUMENT, "paths", "/api/instances", "get")
    assert listing["security"] == [{"key": []}, {"session": []}]
    assert within(DOCUMENT, "components", "securitySchemes", "session")["in"] == "cookie"
    assert {"ETag", "X-Total-Count"} <= within(listing, "responses", "200", "headers").keys()


@pytest.mark.parametrize(
    ("route", "body", "told"),
    [
        (("/api/instances/{instance_id}", "PATCH"), {}, ("body", "must name at least one of name,")),
        (
            ("/api/instances", "POST"),
            a_create_body(envs=[{"key": "A", "value": "1"}, {"key": "A", "value": "2"}]),
            ("envs", "must name each key once"),
        ),
    ],
)
def test_what_is_wrong_is_told_by_its_cause(
    route: tuple[str, str], body: Body, told: tuple[str, str]
) -> None:
    with pytest.raises(RequestInvalid) as refused:
        PARSERS[route](body)
    (wrong,) = refused.value.errors
    assert (wrong.field, wrong.message[: len(told[1])], wrong.value) == (*told, None)


def test_every_change_says_what_body_it_takes() -> None:
    said = {
        (path, method.upper())
        for path, methods in within(DOCUMENT, "paths").items()
        for method, operation in within(methods).items()
        if "requestBody" in within(operation)
    }
    by_name = {("/api/instances/stop", "POST"), ("/api/instances/delete", "POST")}
    assert said >= {
        *PARSERS,
        *by_name,
        ("/api/webhooks", "POST"),
        ("/api/instances/{instance_id}/migrate", "POST"),
    }


def _key(pair: object) -> str:
    return str(pair.get("key")) if isinstance(pair, dict) else repr(pair)
