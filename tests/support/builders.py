"""Builders: valid values of the domain, of which a test names only what it is about.

`NOW` is the instant at which they all live; `after(seconds)` counts from it.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from ostler.domain.attempts import Attempt, called
from ostler.domain.catalogue import BillingMode, Inventory, Offer, Product, Region
from ostler.domain.failures import Failure, FailureCode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.marks import Mark, marked_name, new_install_id, new_instance_id
from ostler.domain.money import Usd
from ostler.domain.offers import OfferKey
from ostler.domain.operations import Operation, OperationKind
from ostler.domain.phases import CreatingPhase, Phase, StartingPhase, TerminatingPhase, Wanted
from ostler.domain.readiness import EndpointHealth, ErrorCategory
from ostler.domain.sightings import Sight
from ostler.domain.spec import InstanceSpec
from ostler.domain.upstream import UpstreamState

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
INSTALL_ID = new_install_id(b"home!")
INSTANCE_ID = new_instance_id(NOW, b"0123456789")
UPSTREAM_ID = "3560b7fec915bbf9"

_USABLE = frozenset({State.RUNNING, State.READY})
_WITHOUT_UPSTREAM = frozenset({State.CREATING})
_FIRST_PHASE: dict[State, Phase] = {
    State.CREATING: CreatingPhase.QUEUED,
    State.STARTING: StartingPhase.BOOTING,
    State.TERMINATING: TerminatingPhase.DELETING,
}
_SHOWN_AS = {
    State.STARTING: UpstreamState.BOOTING,
    State.STOPPING: UpstreamState.STOPPING,
    State.EXITED: UpstreamState.EXITED,
    State.MIGRATING: UpstreamState.MIGRATING,
    State.TERMINATING: UpstreamState.REMOVING,
}
_WANTED = {
    State.STOPPING: Wanted.STOPPED,
    State.EXITED: Wanted.STOPPED,
    State.TERMINATING: Wanted.TERMINATED,
    State.TERMINATED: Wanted.TERMINATED,
}


def after(seconds: float) -> datetime:
    """Return the instant so many seconds after NOW."""
    return NOW + timedelta(seconds=seconds)


def a_spec(name: str = "demo", product_name: str = "RTX 4090 24GB", template_id: str = "12") -> InstanceSpec:
    """Return what a plain request asks for."""
    return InstanceSpec(name=name, product_name=product_name, template_id=template_id)


def an_instance(state: State = State.RUNNING, spec: InstanceSpec | None = None) -> Instance:
    """Return an instance that came to a state in the usual way; use `replace` for what is special."""
    wanted_spec = spec or a_spec()
    is_placed = state not in _WITHOUT_UPSTREAM
    ready_at = NOW if state in _USABLE else None
    return Instance(
        id=INSTANCE_ID,
        name=wanted_spec.name,
        spec=wanted_spec,
        created_at=NOW - timedelta(minutes=10),
        state=state,
        phase=_FIRST_PHASE.get(state),
        wanted=_WANTED.get(state, Wanted.RUNNING),
        upstream_id=UPSTREAM_ID if is_placed else None,
        upstream_state=_SHOWN_AS.get(state, UpstreamState.RUNNING) if is_placed else None,
        observed_at=NOW if is_placed else None,
        placed_at=NOW - timedelta(minutes=9) if is_placed else None,
        starts=1 if is_placed else 0,
        start_began_at=NOW - timedelta(minutes=9) if is_placed else None,
        health=HealthPolicy() if state in {State.HEALTH_CHECKING, State.READY} else None,
        ready_at=ready_at,
        first_ready_at=ready_at,
    )


def a_sight(state: UpstreamState = UpstreamState.RUNNING, seconds: float = 1) -> Sight:
    """Return a detailed sight of the usual upstream, asked for so many seconds after NOW."""
    return Sight(UPSTREAM_ID, state, state.value, after(seconds), is_detailed=True)


def a_failure(
    code: FailureCode = FailureCode.STARTUP_TIMEOUT, message: str = "not running in time"
) -> Failure:
    """Return why something came to nothing."""
    return Failure(code, message, NOW)


def an_operation(kind: OperationKind = OperationKind.CREATE) -> Operation:
    """Return an open operation of the usual instance."""
    return Operation("op-1", INSTANCE_ID, kind, NOW)


def an_endpoint(*, healthy: bool = True, seconds: float = 1, port: int = 8080) -> EndpointHealth:
    """Return what a probe found, asked so many seconds after NOW."""
    address = f"https://{UPSTREAM_ID}-{port}.example.test"
    category = None if healthy else ErrorCategory.CONNECTION_REFUSED
    return EndpointHealth(port, address, healthy, after(seconds), 12, error_category=category)


def a_region(region_id: str = "us-ca-6", code: str | None = None) -> Region:
    """Return a region whose code and name follow from its id."""
    spelt = code or region_id.upper()
    return Region(id=region_id, code=spelt, name=f"{spelt} (Somewhere)")


@dataclass(frozen=True, slots=True)
class Sale:
    """How a product is sold."""

    units: int | None = 35_000
    mode: BillingMode = BillingMode.SPOT
    is_deployable: bool = True
    inventory: Inventory = Inventory.NORMAL


def a_product(
    product_id: str = "4090.16c62g",
    region_id: str = "us-ca-6",
    name: str = "RTX 4090 24GB",
    sale: Sale | None = None,
) -> Product:
    """Return a product for sale in a region."""
    how = sale or Sale()
    return Product(
        id=product_id,
        name=name,
        region_id=region_id,
        billing_mode=how.mode,
        price_per_gpu_hour=None if how.units is None else Usd(how.units),
        is_deployable=how.is_deployable,
        inventory=how.inventory,
        min_rootfs_gb=10,
        max_rootfs_gb=6144,
    )


def an_offer(product: Product | None = None, region: Region | None = None, gpus: int = 1) -> Offer:
    """Return a product at its price."""
    sold = product or a_product()
    price = sold.price_per_gpu_hour
    assert price is not None
    return Offer(sold, region or a_region(sold.region_id), gpus, price)


def an_offer_key(product_id: str = "4090.16c62g", region_id: str = "us-ca-6") -> OfferKey:
    """Return what names a spot offer."""
    return OfferKey(product_id, region_id, BillingMode.SPOT)


def an_attempt(number: int = 1, offer: OfferKey | None = None) -> Attempt:
    """Return an attempt of the usual instance that is written down and not sent."""
    name = marked_name("demo", Mark(INSTALL_ID, INSTANCE_ID, number))
    return Attempt(INSTANCE_ID, number, name, offer or an_offer_key(), Usd(35_000))


def a_call(number: int = 1, offer: OfferKey | None = None, owner: str = "worker-1") -> Attempt:
    """Return an attempt that one owner may send within the next ten seconds."""
    return called(an_attempt(number, offer), owner, after(10))


def a_create_body(**changes: object) -> dict[str, object]:
    """Return the body of a create with the least that it needs, and what the test adds; None takes away."""
    body: dict[str, object] = {"name": "demo", "productName": "RTX 4090 24GB", "templateId": "12"} | changes
    return {name: value for name, value in body.items() if value is not None}


def unplaced(instance: Instance) -> Instance:
    """Return the instance as if the cloud had never made anything of it."""
    return replace(
        instance, upstream_id=None, upstream_state=None, placed_at=None, starts=0, start_began_at=None
    )
