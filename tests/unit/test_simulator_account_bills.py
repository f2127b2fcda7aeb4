"""The simulated cloud's balance and bills, which must agree with its ledger.

Amounts on these pages are in 1/10000 USD, in the ledger in 1/100000 USD.
"""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.simulator import creation
from ostler.simulator.account.bills import Cycle, cycle_start, monthly_bills, next_cycle, totals, usage_lines
from ostler.simulator.accounting import set_balance
from ostler.simulator.instance import Mode
from ostler.simulator.money import LedgerEntry, Span
from tests.support.simulated_account import BASIC, NOW, Cloud, a_running_instance, an_order

DAY = 86_400
RATE = 35_000 * 24  # an RTX 4090 for a day, in 1/100000 USD


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


def an_entry(*spans: Span, prepaid: int = 0, created_at: float = 0.0) -> LedgerEntry:
    return LedgerEntry(
        id="a" * 16,
        account="me",
        name="demo",
        product_id="p",
        product_name="RTX 4090 24GB",
        mode="onDemand",
        created_at=created_at,
        prepaid=prepaid,
        spans=list(spans),
    )


@pytest.mark.parametrize(
    ("cycle", "began", "next_began"),
    [
        (Cycle.HOUR, "2026-08-05T14:00", "2026-08-05T15:00"),
        (Cycle.DAY, "2026-08-05T00:00", "2026-08-06T00:00"),
        (Cycle.WEEK, "2026-08-03T00:00", "2026-08-10T00:00"),
        (Cycle.MONTH, "2026-08-01T00:00", "2026-09-01T00:00"),
    ],
)
def test_cycles_begin_where_people_expect(cycle: Cycle, began: str, next_began: str) -> None:
    start = cycle_start(cycle, at("2026-08-05T14:59"))

    assert start == at(began)
    assert next_cycle(cycle, start) == at(next_began)


@given(
    bounds=st.lists(st.integers(0, 90 * DAY), min_size=2, max_size=8, unique=True),
    cycle=st.sampled_from(Cycle),
)
def test_whatever_the_cycle_the_bills_add_up_to_the_ledger(bounds: list[int], cycle: Cycle) -> None:
    ordered = sorted(bounds)[: len(bounds) // 2 * 2]
    spans = [
        Span(start=int(NOW) + start, rate=RATE, has_gpu=True, end=int(NOW) + end)
        for start, end in zip(ordered[::2], ordered[1::2], strict=True)
    ]
    entry = an_entry(*spans)
    now = int(NOW) + 100 * DAY

    lines = usage_lines([entry], cycle, 0, now)

    assert sum(line.seconds for line in lines) == entry.seconds_at(now)
    assert sum(line.unit_seconds for line in lines) // DAY == entry.cost_at(now)


def test_only_what_falls_into_the_window_is_billed() -> None:
    entry = an_entry(Span(start=1_000, rate=DAY, has_gpu=True))

    lines = usage_lines([entry], Cycle.DAY, 2_000, 5_000)

    assert [(line.start, line.end, line.units) for line in lines] == [(2_000, 5_000, 3_000)]


def test_seconds_without_a_gpu_cost_but_do_not_count_as_use() -> None:
    entry = an_entry(Span(start=0, rate=DAY, has_gpu=False, end=100))

    (line,) = usage_lines([entry], Cycle.DAY, 0, 1_000)

    assert (line.units, line.seconds) == (100, 0)


def test_sums_are_rounded_once_not_line_by_line() -> None:
    entries = [an_entry(Span(start=0, rate=DAY // 2, has_gpu=True, end=1)) for _ in range(4)]

    assert totals(usage_lines(entries, Cycle.DAY, 0, 10), Cycle.DAY) == {0: 2}


def test_every_month_has_a_bill_with_what_was_paid_in_advance() -> None:
    entry = an_entry(prepaid=500, created_at=at("2026-02-10T00:00"))

    bills = monthly_bills([entry], at("2026-01-15T00:00"), at("2026-03-02T00:00"))

    assert [(bill.month, bill.units, bill.is_over) for bill in bills] == [
        ("2026-01", 0, True),
        ("2026-02", 500, True),
        ("2026-03", 0, False),
    ]


def test_what_is_paid_as_a_month_begins_belongs_to_it_alone() -> None:
    entry = an_entry(prepaid=500, created_at=at("2026-02-01T00:00"))

    bills = monthly_bills([entry], at("2026-01-15T00:00"), at("2026-02-02T00:00"))

    assert [bill.units for bill in bills] == [0, 500]


def test_a_month_is_over_at_the_instant_the_next_begins() -> None:
    bills = monthly_bills([], at("2026-02-01T00:00"), at("2026-03-01T00:00"))

    assert [(bill.month, bill.is_over) for bill in bills] == [("2026-02", True), ("2026-03", False)]


def test_the_balance_goes_down_with_the_ledger() -> None:
    cloud = Cloud()
    before = int(cloud.get(f"{BASIC}/billing/balance/detail").text("availableBalance"))
    a_running_instance(cloud)
    cloud.pass_time(36_000)

    after = cloud.get(f"{BASIC}/billing/balance/detail")

    cost = sum(entry.cost_at(cloud.world.now) for entry in cloud.world.ledger.values())
    assert cost > 300_000
    assert before - int(after.text("availableBalance")) == pytest.approx(cost / 10, abs=1)


def test_debts_are_outstanding_and_no_cash() -> None:
    cloud = Cloud()
    set_balance(cloud.world, cloud.account, -123_450)

    balance = cloud.get(f"{BASIC}/billing/balance/detail")

    assert balance.body == {
        "availableBalance": "-12345",
        "cashBalance": "0",
        "creditLimit": "0",
        "pendingCharges": "0",
        "outstandingInvoices": "12345",
    }


def test_the_bill_list_shows_each_instance_and_can_be_narrowed_to_one() -> None:
    cloud = Cloud()
    first, second = a_running_instance(cloud), a_running_instance(cloud)
    cloud.pass_time(7_200)

    everything = cloud.get(f"{BASIC}/billing/bill/list", {"cycleType": "Month", "productCategory": "gpu"})
    one = cloud.get(f"{BASIC}/billing/bill/list", {"cycleType": "Month", "ownerId": second.id})

    assert {row["ownerID"] for row in everything.rows("bills")} == {first.id, second.id}
    (bill,) = one.rows("bills")
    assert bill["amount"] == str(cloud.world.ledger[second.id].cost_at(cloud.world.now) // 10)
    assert bill["basePrice0"] == "3500"
    assert all(isinstance(value, str) for value in bill.values())


def test_the_summary_has_one_line_for_each_cycle() -> None:
    cloud = Cloud()
    a_running_instance(cloud)
    cloud.pass_time(7_200)

    hourly = cloud.get(f"{BASIC}/billing/bill/list", {"cycleType": "Hour", "productCategory": "summary"})

    assert len(hourly.rows("bills")) == 3
    assert [row["endTime"] for row in hourly.rows("bills")][:2] == ["1785783599", "1785787199"]
    assert hourly.rows("bills")[1]["amount"] == "3500"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({"productCategory": "llm"}, 0),
        ({"productName": "4090"}, 1),
        ({"productName": "H100"}, 0),
        ({"startTime": "1785780000", "endTime": "1785780001"}, 0),
    ],
)
def test_bills_are_filtered(query: dict[str, str], found: int) -> None:
    cloud = Cloud()
    a_running_instance(cloud)

    answer = cloud.get(f"{BASIC}/billing/bill/list", {"cycleType": "Month", **query})

    assert len(answer.rows("bills")) == found


def test_an_unknown_cycle_is_refused() -> None:
    assert Cloud().get(f"{BASIC}/billing/bill/list", {"cycleType": "Year"}).status == 400


def test_a_month_in_advance_is_a_bill_of_its_own_kind() -> None:
    cloud = Cloud()
    set_balance(cloud.world, cloud.account, 10**9)
    order = replace(an_order(cloud), mode=Mode.MONTHLY, months=1)
    instance = creation.create(cloud.world, order)

    (bill,) = cloud.get(f"{BASIC}/billing/bill/monthly/list").rows("bills")

    assert (bill["ownerID"], bill["tradeType"], bill["cycle"]) == (instance.id, "monthly_new_buy", "2026-08")
    assert bill["payAmount"] == str(35_000 * 648 // 10)
    assert cloud.get(f"{BASIC}/billing/bill/monthly/list", {"category": "image"}).rows("bills") == []


def test_the_monthly_bill_begins_with_the_month_asked_for() -> None:
    cloud = Cloud()

    answer = cloud.get(f"{BASIC}/billing/monthly/bill", {"startMonth": "2026-06", "pageSize": "2"})

    assert [(row["billingMonth"], row["status"]) for row in answer.rows()] == [
        ("2026-06", "paid"),
        ("2026-07", "paid"),
    ]
    assert cloud.get(f"{BASIC}/billing/monthly/bill", {"startMonth": "June"}).status == 400


def test_the_monthly_bill_of_now_is_what_the_ledger_has() -> None:
    cloud = Cloud()
    a_running_instance(cloud)
    cloud.pass_time(7_200)

    (bill,) = cloud.get(f"{BASIC}/billing/monthly/bill").rows()

    cost = sum(entry.cost_at(cloud.world.now) for entry in cloud.world.ledger.values())
    assert (bill["totalAmount"], bill["status"]) == (str(cost // 10), "pending")


@pytest.mark.parametrize(
    ("cycle", "start"), [("Day", 1_785_780_950 - 31 * DAY), ("Hour", 1_785_780_950 - 7 * DAY)]
)
def test_the_longest_window_of_key_bills_is_allowed(cycle: str, start: int) -> None:
    query = {"cycleType": cycle, "startTime": str(start), "endTime": "1785780950"}

    assert Cloud().get(f"{BASIC}/billing/apikey/bill/list", query).status == 200


def test_keys_are_billed_nothing_since_they_buy_no_language_models() -> None:
    query = {"cycleType": "Day", "startTime": "1785000000", "endTime": "1785780950"}

    assert Cloud().get(f"{BASIC}/billing/apikey/bill/list", query).body == {"bills": []}


@pytest.mark.parametrize(
    "wrong",
    [
        {"cycleType": "Year"},
        {"startTime": "0"},
        {"endTime": "1785000000"},
        {"startTime": "1783000000"},
        {"cycleType": "Hour", "startTime": "1785175000"},
    ],
)
def test_the_window_of_key_bills_is_required_and_capped(wrong: dict[str, str]) -> None:
    query = {"cycleType": "Day", "startTime": "1785000000", "endTime": "1785780950", **wrong}

    assert Cloud().get(f"{BASIC}/billing/apikey/bill/list", query).status == 400
