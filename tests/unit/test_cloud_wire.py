"""Reading JSON field by field: every known form is read, everything else is refused by name and value."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.cloud.novita import account, instances, market, wire
from ostler.cloud.novita.wire import Unreadable
from ostler.domain.catalogue import BillingMode, Region
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState

SEEN_AT = datetime(2026, 1, 1, tzinfo=UTC)
REGION = Region("us-ca-6", "US-CA-06", "US-CA-06 (California)")

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
keys = st.sampled_from(
    ["id", "Id", "name", "status", "instances", "data", "template", "jobs", "state", "ports", "port", "type",
     "portMappings", "statusError", "regions", "price", "spotPrice", "monthlyPrice", "month", "envs", "key",
     "createdAt", "spotReclaimTime", "gpuNum", "total", "avg", "gpuUtilization", "timestamp", "value",
     "connectComponentSSH", "connectComponentJupyter", "isRunning", "availableBalance"]
) | st.text(max_size=5)  # fmt: skip
anything = st.recursive(
    scalars,
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(keys, inside, max_size=6),
    max_leaves=25,
)

READERS: list[Callable[[object], object]] = [
    lambda answer: instances.page(answer, SEEN_AT),
    lambda answer: instances.single(answer, SEEN_AT),
    instances.jobs,
    market.regions,
    lambda answer: market.products(answer, REGION, BillingMode.MONTHLY),
    lambda answer: market.products(answer, REGION, BillingMode.SPOT),
    lambda answer: market.cpu_products(answer, REGION),
    market.template,
    market.templates,
    market.registry_auths,
    lambda answer: market.registry_credentials(answer, "a"),
    account.balance,
    account.gpu_use,
]


def refusal_of(read: Callable[[], object]) -> Unreadable | None:
    """Return how reading was refused, if it was; any other exception is a defect."""
    try:
        read()
    except Unreadable as refusal:
        return refusal
    return None


@given(answer=anything, reader=st.sampled_from(READERS))
def test_any_json_is_read_or_refused_by_name(answer: object, reader: Callable[[object], object]) -> None:
    refusal = refusal_of(lambda: reader(answer))
    assert refusal is None or (refusal.field and refusal.seen)


@given(body=st.binary(max_size=60))
def test_any_bytes_are_a_document_or_refused(body: bytes) -> None:
    refusal = refusal_of(lambda: wire.document(body))
    assert refusal is None or refusal.field == "body"


@given(value=st.integers(-(10**15) + 1, 10**15 - 1))
def test_a_number_is_the_same_as_integer_and_as_string(value: int) -> None:
    assert wire.number({"n": value}, "n") == wire.number({"n": str(value)}, "n") == value


@given(units=st.integers(0, 10**12))
def test_a_price_is_exact_in_both_forms(units: int) -> None:
    assert wire.price({"p": units}, "p") == wire.price({"p": str(units)}, "p") == Usd(units)


@given(seconds=st.integers(1, 4_000_000_000))
def test_an_instant_is_the_same_in_both_forms(seconds: int) -> None:
    at = datetime.fromtimestamp(seconds, UTC)
    assert wire.instant({"t": seconds}, "t") == wire.instant({"t": str(seconds)}, "t") == at


@pytest.mark.parametrize("never", ["0", "-1", "", 0, -1, None])
def test_never_has_many_forms(never: object) -> None:
    assert wire.instant({"t": never}, "t") is None
    assert wire.instant({}, "t") is None


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        (True, "True"),
        ("12a", "'12a'"),
        ([], "a hidden list"),
        (1.5, "1.5"),
        ("9" * 5000, "'999"),
        ("²", "'²'"),
    ],
)
def test_what_is_no_number_is_refused_with_its_value(value: object, seen: str) -> None:
    with pytest.raises(Unreadable) as refusal:
        wire.number({"gpuNum": value}, "gpuNum")
    assert refusal.value.field == "gpuNum"
    assert refusal.value.seen.startswith(seen)
    assert len(refusal.value.seen) < 100


def test_milliseconds_are_no_instant() -> None:
    with pytest.raises(Unreadable, match="createdAt"):
        wire.instant({"createdAt": 1785780950000}, "createdAt")


@pytest.mark.parametrize("reader", [wire.price, wire.count])
def test_negative_prices_and_counts_are_refused(reader: Callable[[wire.Row, str], object]) -> None:
    with pytest.raises(Unreadable, match="p is -5"):
        reader({"p": -5}, "p")


@pytest.mark.parametrize(
    "read",
    [
        lambda: wire.text({"password": True}, "password"),
        lambda: wire.text({"name": ["canary"]}, "name"),
        lambda: wire.number({"value": "canary"}, "value"),
        lambda: market.registry_auths([{"id": "a", "password": "canary"}]),
        lambda: market.registry_auths({"data": {"password": "canary"}}),
        lambda: market.template({"template": {"Id": "1", "envs": ["canary"]}}),
    ],
)
def test_a_value_that_may_hold_a_secret_is_not_shown(read: Callable[[], object]) -> None:
    refusal = refusal_of(read)
    assert refusal is not None
    assert "hidden" in refusal.seen
    assert "canary" not in str(refusal)


def a_row(**changes: object) -> dict[str, object]:
    row: dict[str, object] = {"id": "i-1", "name": "demo", "status": "running", "gpuNum": "1"}
    return row | changes


def test_one_bad_row_does_not_spoil_a_page() -> None:
    page = instances.page({"instances": [a_row(), a_row(id="i-2", gpuNum="many")], "total": "2"}, SEEN_AT)
    assert [upstream.id for upstream in page.upstreams] == ["i-1"]
    assert page.unreadable == {"i-2": "gpuNum is 'many' (str)"}
    assert (page.ids, page.total) == (frozenset({"i-1", "i-2"}), 2)


def test_a_row_without_an_id_spoils_the_page() -> None:
    with pytest.raises(Unreadable, match=r"instances\[1\]\.id is ''"):
        instances.page({"instances": [a_row(), a_row(id="")]}, SEEN_AT)


def test_an_unknown_status_is_kept_and_concludes_nothing() -> None:
    seen = instances.listed(a_row(status="hibernating"), SEEN_AT)
    assert (seen.status, seen.state) == ("hibernating", UpstreamState.UNKNOWN)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("pending", "provisioning"), ("toCreate", "provisioning"), ("creating", "provisioning"),
        ("pulling", "pulling"),
        ("toStart", "booting"), ("starting", "booting"), ("toRestart", "booting"), ("restarting", "booting"),
        ("toReset", "booting"), ("resetting", "booting"), ("running", "running"), ("toStop", "stopping"),
        ("stopping", "stopping"), ("exited", "exited"), ("freezing", "frozen"), ("migrating", "migrating"),
        ("toRemove", "removing"), ("removing", "removing"), ("removed", "removed"),
    ],
)  # fmt: skip
def test_every_word_of_the_cloud_is_a_state_of_ours(word: str, state: str) -> None:
    assert instances.listed(a_row(status=word), SEEN_AT).state == state


def test_ssh_of_older_answers_is_found_at_the_top() -> None:
    ways_in = instances.connection({"sshCommand": "ssh -p 1 root@h", "sshPassword": "canary"})
    assert ways_in.ssh_command == "ssh -p 1 root@h"
    assert ways_in.ssh_password.get_secret_value() == "canary"
    assert "canary" not in f"{ways_in!r}{ways_in}"


def test_a_component_that_does_not_run_is_no_way_in() -> None:
    ways_in = instances.connection({"connectComponentJupyter": {"address": "https://j", "isRunning": False}})
    assert ways_in.jupyter_url == ""


@pytest.mark.parametrize("named", [["US-CA-06 (California)"], ["US-CA-06"], ["us-ca-06"], [], None, {}])
def test_a_product_is_found_by_whatever_names_its_region(named: object) -> None:
    row = {"id": "p", "name": "P", "price": "1", "regions": named}
    assert market.products({"data": [row]}, REGION, BillingMode.ON_DEMAND)


def test_a_product_of_another_region_is_left_out() -> None:
    row = {"id": "p", "name": "P", "price": "1", "regions": ["US-CA-03"]}
    assert not market.products({"data": [row]}, REGION, BillingMode.ON_DEMAND)


@pytest.mark.parametrize("unsold", ["", "0", 0, None])
def test_without_a_spot_price_a_product_is_not_sold_as_spot(unsold: object) -> None:
    row = {"id": "p", "name": "P", "price": "1", "spotPrice": unsold}
    (product,) = market.products({"data": [row]}, REGION, BillingMode.SPOT)
    assert product.price_per_gpu_hour is None


def test_a_monthly_price_is_compared_by_the_hour_and_rounded_up() -> None:
    row = {
        "id": "p",
        "name": "P",
        "monthlyPrice": [{"price": "22680000", "month": 1}, {"price": 100, "month": 12}],
    }
    (product,) = market.products({"data": [row]}, REGION, BillingMode.MONTHLY)
    assert product.monthly_prices == {1: Usd(22_680_000), 12: Usd(100)}
    assert product.price_per_gpu_hour == Usd(31_500)  # 22680000 / 720


@pytest.mark.parametrize(
    "hindrance", [{"availableDeploy": False}, {"canBuy": False}, {"inventoryState": "none"}], ids=str
)
def test_what_cannot_be_bought_is_not_deployable(hindrance: dict[str, object]) -> None:
    row = {
        "id": "p",
        "name": "P",
        "availableDeploy": True,
        "canBuy": True,
        "inventoryState": "low",
    } | hindrance
    (product,) = market.products({"data": [row]}, REGION, BillingMode.SPOT)
    assert not product.is_deployable


def test_use_is_read_as_the_average_over_the_gpus() -> None:
    answer = {
        "gpuUtilization": {"avg": [{"timestamp": "1785780950", "value": 1.5}], "gpuIds": []},
        "gpuMemUtilization": {"avg": [{"timestamp": 1785780950, "value": "7"}]},
    }
    use = account.gpu_use(answer)
    assert [sample.percent for sample in use.compute + use.memory] == [1.5, 7.0]


@pytest.mark.parametrize("value", ["NaN", "inf", None, {}, "many", 1e300])
def test_a_share_that_is_none_is_refused(value: object) -> None:
    with pytest.raises(Unreadable, match="value"):
        wire.share({"value": value}, "value")
