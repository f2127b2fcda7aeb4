"""All controls under `/_sim/`, and what each does.

They are documented one by one, each with a curl line, in docs/simulator.md.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import asdict
from decimal import Decimal
from typing import TypeVar

from pydantic.alias_generators import to_camel

from ostler.simulator import control_bodies as bodies
from ostler.simulator import seeding, spot, stockroom
from ostler.simulator.account.kinds import set_gpu_use, set_manners
from ostler.simulator.account.manners import Manners
from ostler.simulator.accounting import set_balance
from ostler.simulator.app import AppScript
from ostler.simulator.cloud import Cloud
from ostler.simulator.control import bad_control, control
from ostler.simulator.fate import Fate, stations
from ostler.simulator.faults import Fault, FaultKind
from ostler.simulator.instance import Instance, Mode
from ostler.simulator.keys import KEYS, Key, Verdict
from ostler.simulator.ledger_json import ledger_json, wallet_json
from ostler.simulator.lifecycle import lose_host
from ostler.simulator.market import Shelf
from ostler.simulator.money import UNITS_PER_USD
from ostler.simulator.status import Status
from ostler.simulator.world import INSTANCES, PRODUCTS, WALLETS

Thing = TypeVar("Thing")

EVERYBODY = "*"  # in place of an id: all instances, and those to come


def _overview(cloud: Cloud, _: bodies.Nothing) -> object:
    return {
        "mode": "explicit" if cloud.clock.speed == 0 else "auto",
        "speed": cloud.clock.speed,
        "now": cloud.world.now,
        "instances": len(cloud.world.instances),
        "everCreated": len(cloud.world.ledger),
        "faults": len(cloud.faults.all()),
        "calls": cloud.calls.total,
    }


def _ledger(cloud: Cloud, query: bodies.LedgerQuery) -> object:
    return ledger_json(cloud.world, query.account)


def _calls(cloud: Cloud, query: bodies.CallsQuery) -> object:
    calls = cloud.calls
    log = list(calls.log)[-query.log :] if query.log else []
    return {
        "total": calls.total,
        "inFlight": calls.in_flight,
        "maxInFlight": calls.max_in_flight,
        "routes": calls.by_route,
        "answers": calls.by_answer,
        "log": [asdict(record) for record in log],
    }


def _forget_calls(cloud: Cloud, _: bodies.Nothing) -> object:
    cloud.calls.reset()
    return {}


def _faults(cloud: Cloud, _: bodies.Nothing) -> object:
    return {"faults": [_fault_json(fault) for fault in cloud.faults.all()]}


def _add_fault(cloud: Cloud, body: bodies.AddFault) -> object:
    if body.seed is not None:
        cloud.faults.reseed(body.seed)
    fault = Fault(
        id=cloud.faults.next_id(),
        kind=body.fault,
        route=body.route,
        times=body.calls,
        share=body.share,
        seconds=body.seconds,
        status=body.status,
        reason=body.reason,
        message=body.message,
        after=body.after,
        retry_after=body.retry_after,
        body=body.body,
    )
    cloud.faults.add(fault)
    return _fault_json(fault)


def _fault_json(fault: Fault) -> dict[str, object]:
    shown = {"id": fault.id, "fault": fault.kind, "route": fault.route, "hits": fault.hits}
    shown |= {"times": fault.times, "share": fault.share, "seconds": fault.seconds}
    if fault.kind in {FaultKind.STATUS, FaultKind.REFUSAL}:
        shown |= {"status": fault.status, "after": fault.after}
    return shown


def _clear_faults(cloud: Cloud, _: bodies.Nothing) -> object:
    cloud.faults.clear()
    return {}


def _clear_fault(cloud: Cloud, body: bodies.FaultId) -> object:
    if not cloud.faults.take_back(body.id):
        raise bad_control(
            message=f"id: no fault {body.id} is waiting; it may have struck as often as it should"
        )
    return {}


def _add_fate(cloud: Cloud, body: bodies.AddFate) -> object:
    possible = stations(body.verb)
    at = possible[-1] if body.at is None else body.at
    if at not in possible:
        raise bad_control(message=f"at: {body.verb} leads through {', '.join(possible)}, not through {at!r}")
    fate = Fate(at, body.outcome, body.seconds, body.state, body.message)
    cloud.world.fates.setdefault(body.verb, deque()).extend([fate] * body.times)
    return {"waiting": len(cloud.world.fates[body.verb]), "at": at}


def _clear_fates(cloud: Cloud, _: bodies.Nothing) -> object:
    cloud.world.fates.clear()
    return {}


def _stock(cloud: Cloud, _: bodies.Nothing) -> object:
    return {"stock": [_in_camel_case(shelf) for shelf in cloud.world.shelves.values()]}


def _in_camel_case(shelf: Shelf) -> dict[str, object]:
    return {to_camel(name): value for name, value in asdict(shelf).items()}


def _one_of(field: str, key: str, things: Mapping[str, Thing]) -> Thing:
    if key not in things:
        raise bad_control(message=f"{field}: one of {', '.join(things)} is wanted, not {key!r}")
    return things[key]


def _set_stock(cloud: Cloud, body: bodies.SetStock) -> object:
    _one_of("productId", body.product_id, cloud.world.products)
    _one_of("clusterId", body.cluster_id, cloud.world.clusters)
    mode = Mode.ON_DEMAND if body.mode is Mode.MONTHLY else body.mode
    shelf = Shelf(body.product_id, body.cluster_id, mode, body.free, max(1, body.free))
    stockroom.fill(cloud.world, shelf)
    return _in_camel_case(shelf)


def _set_prices(cloud: Cloud, body: bodies.SetPrices) -> object:
    product = _one_of("productId", body.product_id, cloud.world.products)
    product.price = product.price if body.price is None else body.price
    product.spot_price = product.spot_price if body.spot_price is None else body.spot_price
    cloud.world.touch(PRODUCTS, product.id)
    return {"productId": product.id, "price": product.price, "spotPrice": product.spot_price}


def _reclaim(cloud: Cloud, body: bodies.Reclaim) -> object:
    instance = _instance(cloud, body.id)
    usual = cloud.world.durations.spot_notice_s
    spot.force_notice(cloud.world, instance, usual if body.notice_seconds is None else body.notice_seconds)
    cloud.catch_up()
    return {"id": instance.id, "spotStatus": instance.spot_status, "reclaimAt": instance.spot_reclaim_at}


def _lose_host(cloud: Cloud, body: bodies.OneInstance) -> object:
    instance = _instance(cloud, body.id)
    if instance.status is not Status.RUNNING:
        raise bad_control(message=f"id: {body.id} is {instance.status}, and a host fails only under running")
    lose_host(cloud.world, instance)
    return {"id": instance.id, "status": instance.status}


def _set_app(cloud: Cloud, body: bodies.SetApp) -> object:
    script = AppScript(body.mood, body.ready_after_seconds, body.delay_s, body.status, body.body)
    if body.id == EVERYBODY:
        cloud.world.default_app = script
        instances = list(cloud.world.instances.values())
    else:
        instances = [_instance(cloud, body.id)]
    for instance in instances:
        instance.app = script
        cloud.world.touch(INSTANCES, instance.id)
    return body.model_dump(by_alias=True, exclude={"id"}) | {"delaySeconds": body.delay_s}


def _instance(cloud: Cloud, word: str) -> Instance:
    instance = cloud.world.instances.get(word)
    if instance is None:
        named = [each for each in cloud.world.instances.values() if each.name == word]
        if len(named) != 1:
            raise bad_control(message=f"id: {len(named)} instances have the id or name {word!r}")
        instance = named[0]
    return instance


def _clock(cloud: Cloud, _: bodies.Nothing) -> object:
    return {"now": cloud.world.now, "speed": cloud.clock.speed, "nextDue": cloud.world.next_due()}


def _turn_clock(cloud: Cloud, body: bodies.TurnClock) -> object:
    if body.advance is not None:
        cloud.clock.advance(body.advance)
    if body.speed is not None:
        cloud.clock.set_speed(body.speed)
    cloud.catch_up()
    return _clock(cloud, bodies.Nothing())


def _reset(cloud: Cloud, _: bodies.Nothing) -> object:
    cloud.reset()
    return {}


def _seed(cloud: Cloud, body: bodies.Seed) -> object:
    ids = seeding.seed(cloud.world, body.account, body.instances, status=Status(body.status), name=body.name)
    return {"seeded": len(ids), "first": ids[0], "last": ids[-1]}


def _set_balance(cloud: Cloud, body: bodies.SetBalance) -> object:
    set_balance(cloud.world, body.account, int(Decimal(str(body.usd)) * UNITS_PER_USD))
    return wallet_json(cloud.world, cloud.world.wallet(body.account))


def _set_quota(cloud: Cloud, body: bodies.SetQuota) -> object:
    wallet = cloud.world.wallet(body.account)
    wallet.gpu_limit = wallet.gpu_limit if body.gpus is None else body.gpus
    wallet.instance_limit = wallet.instance_limit if body.instances is None else body.instances
    cloud.world.touch(WALLETS, body.account)
    return {"account": body.account, "gpus": wallet.gpu_limit, "instances": wallet.instance_limit}


def _set_key(cloud: Cloud, body: bodies.SetKey) -> object:
    verdict = Verdict.INVALID if body.invalid else Verdict.FORBIDDEN if body.forbidden else Verdict.OPENS
    key = cloud.world.put(KEYS, body.key, Key(body.key, verdict, body.account))
    return {"key": key.key, "verdict": key.verdict, "account": key.account}


def _set_lag(cloud: Cloud, body: bodies.SetLag) -> object:
    cloud.world.lag.create_s, cloud.world.lag.effect_s = body.create_seconds, body.effect_seconds
    return {"createSeconds": body.create_seconds, "effectSeconds": body.effect_seconds}


def _set_manners(cloud: Cloud, body: bodies.SetManners) -> object:
    set_manners(cloud.world, Manners(body.storage_create))
    return {"storageCreate": body.storage_create}


def _set_gpu_use(cloud: Cloud, body: bodies.SetGpuUse) -> object:
    set_gpu_use(cloud.world, _instance(cloud, body.id).id, body.percent)
    return {"id": body.id, "percent": body.percent}


CONTROLS = (
    control("GET", "/", bodies.Nothing, _overview),
    control("GET", "/ledger", bodies.LedgerQuery, _ledger),
    control("GET", "/calls", bodies.CallsQuery, _calls),
    control("DELETE", "/calls", bodies.Nothing, _forget_calls),
    control("GET", "/faults", bodies.Nothing, _faults),
    control("POST", "/faults", bodies.AddFault, _add_fault),
    control("DELETE", "/faults", bodies.Nothing, _clear_faults),
    control("DELETE", "/faults/{id}", bodies.FaultId, _clear_fault),
    control("POST", "/fates", bodies.AddFate, _add_fate),
    control("DELETE", "/fates", bodies.Nothing, _clear_fates),
    control("GET", "/stock", bodies.Nothing, _stock),
    control("POST", "/stock", bodies.SetStock, _set_stock),
    control("POST", "/prices", bodies.SetPrices, _set_prices),
    control("POST", "/reclaim/{id}", bodies.Reclaim, _reclaim),
    control("POST", "/host-failure/{id}", bodies.OneInstance, _lose_host),
    control("POST", "/app/{id}", bodies.SetApp, _set_app),
    control("GET", "/clock", bodies.Nothing, _clock),
    control("POST", "/clock", bodies.TurnClock, _turn_clock),
    control("POST", "/reset", bodies.Nothing, _reset),
    control("POST", "/seed", bodies.Seed, _seed),
    control("POST", "/balance", bodies.SetBalance, _set_balance),
    control("POST", "/quota", bodies.SetQuota, _set_quota),
    control("POST", "/keys", bodies.SetKey, _set_key),
    control("POST", "/lag", bodies.SetLag, _set_lag),
    control("POST", "/manners", bodies.SetManners, _set_manners),
    control("POST", "/gpu-use/{id}", bodies.SetGpuUse, _set_gpu_use),
)
