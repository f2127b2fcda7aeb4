"""Every recorded answer of the cloud goes through our reader, and comes out as what it says."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from ostler.cloud.lane import Lane
from ostler.cloud.novita import account, instances, market, wire
from ostler.cloud.novita.calls import acknowledged
from ostler.cloud.novita.errors import refusal_of
from ostler.cloud.refusals import (
    CloudRefusal,
    InvalidState,
    NoCapacity,
    RateLimited,
    RefusalReason,
    Refused,
    Unauthorized,
)
from ostler.cloud.request import Kind, Reply, Request
from ostler.cloud.upstream import SpotStatus
from ostler.domain.catalogue import BillingMode, Region
from ostler.domain.money import Usd
from ostler.domain.templates import StatedPort
from ostler.domain.upstream import UpstreamState
from tests.support.cloud import ScriptedNetwork, a_config, a_transport, answer

SEEN_AT = datetime(2026, 1, 1, tzinfo=UTC)
CALIFORNIA = Region("us-ca-6", "US-CA-06", "US-CA-06 (California)")

Case = Mapping[str, object]
Reading = Callable[[object], object]

CASES = {
    str(case["id"]): cast("Case", case)
    for case in json.loads((Path(__file__).parent / "cases.json").read_bytes())["cases"]
}

# Answers to questions that Ostler does not ask: what it would have to read is not written.
NOT_ASKED = frozenset(
    {"storage.list", "vpc.get", "v2.instance.list.live", "v2.products", "v2.regions", "v2.endpoints.list"}
)
THE_TRANSPORTS = frozenset({"products.429"})  # never reaches a reader


def products_in_any_region(answer: object) -> object:
    return [
        product
        for mode in BillingMode
        for region in (CALIFORNIA, Region("us-1", "US-01", "US-01 (Dallas)"))
        for product in market.products(answer, region, mode)
    ]


READERS: Mapping[str, Reading] = {
    "clusters.list": market.regions,
    "products.list.live": products_in_any_region,
    "products.list.sdk": products_in_any_region,
    "instance.list.sdk": lambda answer: instances.page(answer, SEEN_AT).upstreams,
    "instance.list.filters": lambda answer: instances.page(answer, SEEN_AT).upstreams,
    "instance.list.oldshape": lambda answer: instances.page(answer, SEEN_AT).upstreams,
    "instance.get.running": lambda answer: instances.single(answer, SEEN_AT),
    "instance.get.pending": lambda answer: instances.single(answer, SEEN_AT),
    "instance.get.exited": lambda answer: instances.single(answer, SEEN_AT),
    "instance.get.spot.notified": lambda answer: instances.single(answer, SEEN_AT),
    "instance.get.spot.reclaimed": lambda answer: instances.single(answer, SEEN_AT),
    "template.get": market.template,
    "template.list": lambda answer: market.templates(answer)[0],
    "registry.list": market.registry_auths,
    "billing.balance": account.balance,
}


REFUSALS: Mapping[str, type[CloudRefusal] | RefusalReason] = {
    "instance.create.nostock": NoCapacity,
    "instance.create.nobalance": RefusalReason.BALANCE,
    "instance.start.badstate": InvalidState,
    "instance.start.nostock": NoCapacity,
    "instance.delete.monthly": RefusalReason.SUBSCRIPTION,
    "storage.delete.inuse": RefusalReason.STORAGE,
    "auth.401": Unauthorized,
    "path.404": RefusalReason.OTHER,
    "v2.products.missing": RefusalReason.VALIDATION,
}


def reply_of(case: Case) -> Reply:
    return Reply(cast("int", case["status"]), json.dumps(case["response"]).encode(), SEEN_AT)


def request_of(case: Case) -> Request:
    kind = Kind.READ if case["method"] == "GET" else Kind.WRITE
    return Request(str(case["id"]), kind, Lane.USER, str(case["method"]), str(case["path"]))


def read(case_id: str) -> object:
    return READERS[case_id](wire.document(reply_of(CASES[case_id]).body))


def is_refused(case: Case) -> bool:
    return cast("int", case["status"]) >= 400


def is_write(case: Case) -> bool:
    return case["method"] != "GET" and not is_refused(case)


def test_every_case_is_read_or_its_question_is_not_asked() -> None:
    as_write = {case_id for case_id, case in CASES.items() if is_write(case)}
    assert len(CASES) == 68
    assert set(CASES) == READERS.keys() | REFUSALS.keys() | as_write | NOT_ASKED | THE_TRANSPORTS


@pytest.mark.parametrize("case_id", sorted(READERS))
def test_an_answer_to_a_read_is_read(case_id: str) -> None:
    assert read(case_id)


@pytest.mark.parametrize("case_id", sorted(case_id for case_id, case in CASES.items() if is_write(case)))
def test_an_answer_to_a_write_is_read(case_id: str) -> None:
    answer = CASES[case_id]["response"]
    assert acknowledged(reply_of(CASES[case_id])) == answer


@pytest.mark.parametrize("case_id", sorted(REFUSALS))
def test_a_refusal_is_understood(case_id: str) -> None:
    expected = REFUSALS[case_id]
    seen = refusal_of(request_of(CASES[case_id]), reply_of(CASES[case_id]), "instance i-1")
    assert (seen.reason if isinstance(seen, Refused) else type(seen)) is expected


def test_prices_come_as_strings_or_integers_and_are_exact() -> None:
    live = market.products(CASES["products.list.live"]["response"], CALIFORNIA, BillingMode.ON_DEMAND)
    assert [(product.name, product.price_per_gpu_hour) for product in live] == [
        ("RTX 4090 24GB", Usd.of("0.35")),
        ("A100 SXM 80GB", Usd.of("1.60")),
    ]
    spot = market.products(CASES["products.list.live"]["response"], CALIFORNIA, BillingMode.SPOT)
    assert spot[0].price_per_gpu_hour == Usd.of("0.175")
    sdk = market.products(CASES["products.list.sdk"]["response"], CALIFORNIA, BillingMode.ON_DEMAND)
    assert sdk[0].price_per_gpu_hour == Usd.of("3.5")


def test_a_mode_that_a_product_is_not_sold_under_has_no_price() -> None:
    sdk = market.products(CASES["products.list.sdk"]["response"], CALIFORNIA, BillingMode.SPOT)
    assert sdk[0].price_per_gpu_hour is None


def test_a_sold_out_product_is_known_and_not_deployable() -> None:
    dallas = Region("17", "US-01", "US-01 (Dallas)")
    (product,) = market.products(CASES["products.list.live"]["response"], dallas, BillingMode.SPOT)
    assert (product.id, product.is_deployable) == ("26", False)


def test_a_running_instance_is_read_with_its_ways_in() -> None:
    seen = instances.single(CASES["instance.get.running"]["response"], SEEN_AT)
    assert (seen.state, seen.status, seen.gpus, seen.observed_at) == (
        UpstreamState.RUNNING,
        "running",
        1,
        SEEN_AT,
    )
    assert [(endpoint.port, endpoint.address) for endpoint in seen.endpoints] == [
        (80, "https://3560b7fec915bbf9-80.us-ca-6.gpu-instance.novita.ai"),
        (3306, "proxy.us-ca-6.gpu-instance.novita.ai:32788"),
    ]
    assert seen.created_at == datetime.fromtimestamp(1785780950, UTC)
    assert (seen.stopped_at, seen.ends_at, seen.reclaim_at) == (None, None, None)
    assert seen.connection is not None
    assert seen.connection.ssh_command == "ssh -p 32787 root@proxy.us-ca-6.gpu-instance.novita.ai"
    assert seen.connection.ssh_password.get_secret_value() == "not-a-secret"
    assert seen.connection.jupyter_url == "https://jupyter.example"
    assert "not-a-secret" not in repr(seen)


def test_a_reclaimed_spot_instance_is_told_from_a_stopped_one() -> None:
    reclaimed = instances.single(CASES["instance.get.spot.reclaimed"]["response"], SEEN_AT)
    notified = instances.single(CASES["instance.get.spot.notified"]["response"], SEEN_AT)
    stopped = instances.single(CASES["instance.get.exited"]["response"], SEEN_AT)
    assert (reclaimed.is_reclaimed, notified.is_reclaimed, stopped.is_reclaimed) == (True, False, False)
    assert (notified.spot_status, notified.reclaim_at) == (
        SpotStatus.NOTIFIED,
        datetime.fromtimestamp(1785784550, UTC),
    )


def test_a_template_is_read_with_its_ports() -> None:
    sheet = market.template(CASES["template.get"]["response"])
    assert (sheet.id, sheet.image, sheet.envs) == ("212", "ubuntu:latest", (("testkey", "123"),))
    assert sheet.ports == (
        StatedPort(8080, "tcp"),
        StatedPort(8090, "tcp"),
        StatedPort(6000, "http"),
        StatedPort(60001, "http"),
    )


def test_the_balance_has_a_unit_of_its_own() -> None:
    assert account.balance(CASES["billing.balance"]["response"]).available == Usd.of(100)


def test_registry_passwords_are_left_behind() -> None:
    assert "1111" not in repr(market.registry_auths(CASES["registry.list"]["response"]))


async def test_a_429_is_understood_without_an_envelope() -> None:
    case = CASES["products.429"]
    network = ScriptedNetwork([answer(cast("int", case["status"]), case["response"])])
    with pytest.raises(RateLimited):
        await a_transport(network, a_config(attempts=1)).send(request_of(case))
