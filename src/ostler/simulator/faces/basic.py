"""The basic family: how busy an instance is, the account's balance, and its bills.

Amounts are strings in 1/10000 USD here, not in the 1/100000 USD of prices. The bill pages disagree among
themselves about envelopes (`data`, `bills`) and page parameters (`page`, `pageNo`, none); so they do here.
"""

from collections.abc import Mapping
from datetime import UTC, datetime

from ostler.simulator.account import metrics
from ostler.simulator.account.bill_json import (
    line_json,
    month_json,
    summary_json,
    term_json,
    transaction_json,
)
from ostler.simulator.account.bills import (
    Cycle,
    monthly_bills,
    shown,
    totals,
    transactions,
    usage_lines,
)
from ostler.simulator.account.fields import Fields, asked
from ostler.simulator.account.kinds import first_seen, gpu_use, owned_by_ledger
from ostler.simulator.account.paging import DEFAULT_PAGE_SIZE, numbered_page
from ostler.simulator.account.paths import BASIC
from ostler.simulator.face import Call, Route
from ostler.simulator.money import SECONDS_PER_DAY, LedgerEntry
from ostler.simulator.refusal import bad_parameter
from ostler.simulator.verbs import find
from ostler.simulator.world import World

LONGEST_WINDOW = 31 * SECONDS_PER_DAY
LONGEST_HOURLY_WINDOW = 7 * SECONDS_PER_DAY
LONGEST_NUMBER = 15  # digits
ALL_CATEGORIES = {"", "summary"}


def _metrics(world: World, call: Call) -> object:
    query = asked(call.query)
    now = int(world.now)
    instance = find(world, call.account, query.text("instanceId", (1, 255)))
    subject = metrics.Subject(
        id=instance.id,
        gpu_ids=tuple(str(index) for index in range(instance.gpu_num if instance.kind == "gpu" else 0)),
        runs=tuple(
            (int(span.start), now if span.end is None else int(span.end))
            for span in world.ledger[instance.id].spans
            if span.has_gpu
        ),
        use=gpu_use(world, instance.id),
    )
    asked_for = metrics.window(
        now,
        start=_whole(query, "startTime"),
        end=_whole(query, "endTime"),
        interval=_whole(query, "interval"),
    )
    load = metrics.measured(subject, asked_for, now)
    return {
        "cpuUtilization": _points(load.cpu),
        "memUtilization": _points(load.memory),
        "rootDiskUtilization": _points(load.root_disk),
        "gpuUtilization": _per_gpu(load.gpu),
        "gpuMemUtilization": _per_gpu(load.gpu_memory),
    }


def _whole(query: Fields, name: str) -> int:
    """Return a number of a query, 0 where it is none: here the cloud forgives instead of refusing."""
    text = query.text(name)
    is_instant = text.isascii() and text.isdecimal() and len(text) <= LONGEST_NUMBER
    return int(text) if is_instant else 0


def _points(series: metrics.Series) -> list[dict[str, object]]:
    return [{"timestamp": str(point.at), "value": point.percent} for point in series]


def _per_gpu(series: Mapping[str, metrics.Series]) -> dict[str, object]:
    return {
        "avg": _points(metrics.average(series)),
        "gpuIds": [{"gpuId": gpu_id, "items": _points(points)} for gpu_id, points in series.items()],
    }


def _balance(world: World, call: Call) -> object:
    left = world.wallet(call.account).balance(world.now)
    return {
        "availableBalance": shown(left),
        "cashBalance": shown(max(0, left)),
        "creditLimit": "0",
        "pendingCharges": "0",
        "outstandingInvoices": shown(max(0, -left)),
    }


def _entries(world: World, call: Call, category: str = "") -> list[LedgerEntry]:
    """Return an account's part of the ledger, filtered as all bill pages can be, of a category or of all."""
    query = asked(call.query)
    return [
        entry
        for entry in owned_by_ledger(world, call.account)
        if category in {*ALL_CATEGORIES, entry.category}
        and query.text("ownerId") in {"", entry.id}
        and query.text("productName").casefold() in entry.product_name.casefold()
    ]


def _window(world: World, query: Fields) -> tuple[int, int]:
    now = int(world.now)
    end = min(query.number("endTime") or now, now)
    return query.number("startTime") or max(0, end - LONGEST_WINDOW), end


def _usage(world: World, call: Call) -> object:
    query = asked(call.query)
    cycle = Cycle(query.word("cycleType", tuple(Cycle), Cycle.DAY))
    category = query.text("productCategory")
    start, end = _window(world, query)
    lines = usage_lines(_entries(world, call, category), cycle, start, end)
    if category == "summary":
        sums = totals(lines, cycle)
        return {"bills": [summary_json(call.account, cycle, at, units) for at, units in sums.items()]}
    return {"bills": [line_json(line) for line in lines]}


def _fixed_term(world: World, call: Call) -> object:
    query = asked(call.query)
    start, end = _window(world, query)
    return {
        "bills": [
            term_json(entry)
            for entry in _entries(world, call, query.text("category"))
            if entry.prepaid and start <= entry.created_at <= end
        ]
    }


def _by_key(_world: World, call: Call) -> object:
    """Answer what was spent through each key: nothing, since only language models are billed so."""
    query = asked(call.query)
    cycle = query.word("cycleType", tuple(Cycle))
    start, end = query.number("startTime"), query.number("endTime")
    if not 0 < start < end:
        raise bad_parameter(message="startTime and endTime are required, and endTime must be the later")
    longest = LONGEST_HOURLY_WINDOW if cycle == Cycle.HOUR else LONGEST_WINDOW
    if end - start > longest:
        raise bad_parameter(message=f"the window of cycle {cycle} may not exceed {longest} seconds")
    return {"bills": []}


def _monthly(world: World, call: Call) -> object:
    query = asked(call.query)
    since = _month(query.text("startMonth")) or first_seen(world, call.account)
    bills = monthly_bills(_entries(world, call), since, int(world.now))
    page = numbered_page(
        bills, query.number("page", default=1), query.number("pageSize", default=DEFAULT_PAGE_SIZE)
    )
    return {"data": [month_json(call.account, bill) for bill in page]}


def _month(text: str) -> int:
    """Return when a month written `YYYY-MM` began, 0 for none."""
    if not text:
        return 0
    try:
        return int(datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC).timestamp())
    except ValueError as error:
        raise bad_parameter(message=f"invalid startMonth: {text!r} is not of the form YYYY-MM") from error


def _transactions(world: World, call: Call) -> object:
    query = asked(call.query)
    number, size = query.number("pageNo", (1, 2**31)), query.number("pageSize", (1, 2**31))
    first, last = query.number("transactionTimeStart"), query.number("transactionTimeEnd")
    found = [
        transaction
        for transaction in transactions(
            owned_by_ledger(world, call.account),
            world.wallet(call.account).credit,
            first_seen(world, call.account),
            int(world.now),
        )
        if query.text("transactionType") in {"", transaction.kind}
        and query.text("serialNumber") in {"", transaction.serial_number}
        and first <= transaction.at
        and (last == 0 or transaction.at <= last)
    ]
    page = numbered_page(found, number, size)
    return {"data": [transaction_json(call.account, each) for each in page], "total": len(found)}


ROUTES = (
    Route("GET", f"{BASIC}/metrics/gpu/instance", _metrics),
    Route("GET", f"{BASIC}/billing/balance/detail", _balance),
    Route("GET", f"{BASIC}/billing/monthly/bill", _monthly),
    Route("GET", f"{BASIC}/billing/bill/list", _usage),
    Route("GET", f"{BASIC}/billing/bill/monthly/list", _fixed_term),
    Route("GET", f"{BASIC}/billing/apikey/bill/list", _by_key),
    Route("GET", f"{BASIC}/bill/transaction", _transactions),
)
