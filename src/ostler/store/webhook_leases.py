"""Who sends which delivery: what is due, claims, results, rescue. Which of them go is decided elsewhere.

A *lease* is the right to send one delivery until an instant of the database's clock; its epoch counts
claims, and a result counts only under the epoch that it was claimed with. Claims and results of one
endpoint exclude one another by a lock on its row, so that no line is judged while it changes.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import (
    BigInteger,
    Connection,
    Select,
    Update,
    bindparam,
    func,
    literal_column,
    null,
    select,
    type_coerce,
    update,
)

from ostler.store.instants import EPOCH, Instant, database_now, database_now_plus
from ostler.store.webhook_deliveries import Attempt, DeliveryStatus, webhook_deliveries
from ostler.store.webhook_endpoints import webhook_endpoints

_ROWS = webhook_deliveries.c
# Written out, not as parameters: SQLite uses a partial index only where a statement itself has its condition.
_IS_WAITING = _ROWS.status == literal_column("'waiting'")
_IS_SENDING = _ROWS.status == literal_column("'sending'")
LOG_KEPT = 50  # attempts of a delivery that are remembered


@dataclass(frozen=True, slots=True)
class Candidate:
    """A due delivery, and what matters of the nearest one before it in its line that is still open."""

    id: int
    was_tried: bool
    elder_id: int | None = None
    elder_holds_until: datetime | None = None  # None: the elder was never tried


@dataclass(frozen=True, slots=True)
class Terms:
    """Under which terms deliveries are taken."""

    owner: str
    lease: timedelta
    hold: timedelta  # how long a line waits for a delivery from its first attempt on
    patience: timedelta  # how long a round of attempts may take


@dataclass(frozen=True, slots=True)
class Claimed:
    """What the holder of a lease needs in order to send."""

    id: int
    epoch: int
    endpoint_id: str
    message_id: str
    event: str
    body: str
    instance_id: str | None


@dataclass(frozen=True, slots=True)
class Held:
    """A delivery whose lease holds, read for its result."""

    now: datetime
    instance_id: str | None
    attempts: int
    round_attempts: int
    give_up_at: datetime
    held_until: datetime
    log: tuple[Attempt, ...]


def began_at(connection: Connection) -> datetime:
    """Return the instant of this transaction, by the database's clock."""
    return connection.execute(select(database_now())).scalar_one()


def rescue(connection: Connection) -> int:
    """Free the deliveries whose holders let their lease run out; return how many."""
    expired = select(_ROWS.id).where(_IS_SENDING, _ROWS.lease_until < database_now())
    statement = _freed().where(_ROWS.id.in_(expired.with_for_update(skip_locked=True)))
    return connection.execute(statement).rowcount


def rescue_all(connection: Connection) -> int:
    """Free every leased delivery: the caller knows that no other process can be alive."""
    return connection.execute(_freed()).rowcount


def hand_back(connection: Connection, owner: str) -> int:
    """Free what one holder has not finished; return how many."""
    return connection.execute(_freed().where(_ROWS.lease_owner == owner)).rowcount


def lock_due_endpoints(connection: Connection, full: Collection[str], limit: int) -> Sequence[str]:
    """Return endpoints with something due and not full, the longest due first, locked for a claim."""
    due = connection.execute(_due_endpoints(full, limit)).scalars().all()
    if not due:
        return ()
    locked = set(connection.execute(_locking(due, skip_locked=True)).scalars())
    return [endpoint_id for endpoint_id in due if endpoint_id in locked]


def lock_endpoint(connection: Connection, endpoint_id: str) -> None:
    """Keep others from judging or changing the lines of an endpoint until the end of this transaction."""
    connection.execute(_locking([endpoint_id], skip_locked=False))


def sending_counts(connection: Connection) -> Counter[str]:
    """Return how many deliveries are on their way to each endpoint, from all processes."""
    return Counter(connection.execute(_ON_THEIR_WAY).scalars())


def due_candidates(connection: Connection, endpoint_id: str, limit: int) -> Sequence[Candidate]:
    """Return the deliveries to an endpoint that are due, the longest due first."""
    rows = connection.execute(_CANDIDATES, {"wanted_endpoint": endpoint_id, "wanted_limit": limit})
    return [Candidate(row.id, row.attempts > 0, row.elder_id, row.held_until) for row in rows]


def take(connection: Connection, ids: Collection[int], terms: Terms) -> Sequence[Claimed]:
    """Claim deliveries that wait; the caller holds the locks of their endpoints."""
    if not ids:
        return ()
    statement = (
        update(webhook_deliveries)
        .where(_IS_WAITING, _ROWS.id.in_(ids))
        .values(
            status=DeliveryStatus.SENDING.value,
            next_attempt_at=null(),
            attempts=_ROWS.attempts + 1,
            round_attempts=_ROWS.round_attempts + 1,
            give_up_at=func.coalesce(_ROWS.give_up_at, database_now_plus(terms.patience)),
            held_until=func.coalesce(_ROWS.held_until, database_now_plus(terms.hold)),
            lease_owner=terms.owner,
            lease_epoch=_ROWS.lease_epoch + 1,
            lease_until=database_now_plus(terms.lease),
        )
        .returning(
            *(_ROWS.id, _ROWS.lease_epoch, _ROWS.endpoint_id, _ROWS.message_id, _ROWS.event, _ROWS.body),
            _ROWS.instance_id,
        )
    )
    return sorted((Claimed(*row) for row in connection.execute(statement)), key=lambda claimed: claimed.id)


def postpone(connection: Connection, puts_off: Sequence[tuple[int, datetime]]) -> None:
    """Let waiting deliveries not be due before an instant."""
    if puts_off:
        connection.execute(_POSTPONE, [{"put_off_id": each, "until": until} for each, until in puts_off])


def held(connection: Connection, delivery_id: int, epoch: int) -> Held | None:
    """Return a delivery if the lease on it holds, and keep it so until the end of this transaction."""
    query = (
        select(
            *(database_now(), _ROWS.instance_id, _ROWS.attempts, _ROWS.round_attempts),
            *(_ROWS.give_up_at, _ROWS.held_until, _ROWS.log),
        )
        .where(_ROWS.id == delivery_id, _ROWS.lease_epoch == epoch, _IS_SENDING)
        .with_for_update()
    )
    row = connection.execute(query).first()
    return None if row is None else Held(*row)


def close(connection: Connection, delivery_id: int, status: DeliveryStatus, log: tuple[Attempt, ...]) -> None:
    """Write the end of a delivery that is held."""
    values = {"status": status.value, "finished_at": database_now(), "log": log[-LOG_KEPT:], **_NO_LEASE}
    connection.execute(update(webhook_deliveries).where(_ROWS.id == delivery_id).values(values))


def wait(connection: Connection, delivery_id: int, until: datetime, log: tuple[Attempt, ...]) -> None:
    """Write that a delivery that is held is tried again at an instant."""
    values = {"status": DeliveryStatus.WAITING.value, "next_attempt_at": until, "log": log[-LOG_KEPT:]}
    connection.execute(update(webhook_deliveries).where(_ROWS.id == delivery_id).values(values | _NO_LEASE))


def let_next_pass(
    connection: Connection, endpoint_id: str, instance_id: str, delivery_id: int, at: datetime
) -> None:
    """Have the next of a line that was never tried come due at an instant, if not before."""
    following = select(func.min(_ROWS.id)).where(
        *(_ROWS.endpoint_id == endpoint_id, _ROWS.instance_id == instance_id, _ROWS.id > delivery_id),
        *(_IS_WAITING, _ROWS.attempts == 0),
    )
    statement = update(webhook_deliveries).where(
        _ROWS.id == following.scalar_subquery(), _ROWS.next_attempt_at > at
    )
    connection.execute(statement.values(next_attempt_at=at))


def next_due_in(connection: Connection) -> timedelta | None:
    """Return how long it is until the next delivery comes due that is not yet; None when none waits."""
    first = func.min(type_coerce(_ROWS.next_attempt_at, BigInteger))
    query = select(first - type_coerce(database_now(), BigInteger)).where(
        _IS_WAITING, _ROWS.next_attempt_at > database_now()
    )
    ahead = connection.execute(query).scalar()
    return None if ahead is None else timedelta(microseconds=int(ahead))


def is_anything_to_do(connection: Connection) -> bool:
    """Tell whether something is due, or a lease has run out; a reader may ask."""
    is_due = select(_ROWS.id).where(_IS_WAITING, _ROWS.next_attempt_at <= database_now()).limit(1)
    is_lost = select(_ROWS.id).where(_IS_SENDING, _ROWS.lease_until < database_now()).limit(1)
    return connection.execute(is_due).first() is not None or connection.execute(is_lost).first() is not None


def _due_endpoints(full: Collection[str], limit: int) -> Select[str]:
    """Return the query that hops from endpoint to endpoint: its cost grows with them, not with deliveries."""
    first = select(func.min(_ROWS.endpoint_id).label("id")).where(_IS_WAITING)
    hops = first.cte("hops", recursive=True)
    following = select(func.min(_ROWS.endpoint_id)).where(_IS_WAITING, _ROWS.endpoint_id > hops.c.id)
    hops = hops.union_all(select(following.scalar_subquery()).where(hops.c.id.is_not(None)))
    earliest = select(func.min(_ROWS.next_attempt_at, type_=Instant())).where(
        _IS_WAITING, _ROWS.endpoint_id == hops.c.id
    )
    waiting = (
        select(hops.c.id, earliest.scalar_subquery().label("due_at"))
        .where(hops.c.id.is_not(None), hops.c.id.not_in(full))
        .subquery()
    )
    return (
        select(waiting.c.id).where(waiting.c.due_at <= database_now()).order_by(waiting.c.due_at).limit(limit)
    )


def _locking(ids: Sequence[str], *, skip_locked: bool) -> Select[str]:
    # not the key: the events' transactions refer to the row while it is locked here
    query = select(webhook_endpoints.c.id).where(webhook_endpoints.c.id.in_(ids))
    return query.order_by(webhook_endpoints.c.id).with_for_update(key_share=True, skip_locked=skip_locked)


def _freed() -> Update:
    values = {"status": DeliveryStatus.WAITING.value, "next_attempt_at": database_now(), **_NO_LEASE}
    return update(webhook_deliveries).where(_IS_SENDING).values(values)


# of those in the index of leases, however few they are among all
_ON_THEIR_WAY = select(_ROWS.endpoint_id).where(_IS_SENDING, _ROWS.lease_until > EPOCH)
_NO_LEASE = {"lease_owner": null(), "lease_until": null()}
_POSTPONE = (
    update(webhook_deliveries)
    .where(_IS_WAITING, _ROWS.id == bindparam("put_off_id"))
    .values(next_attempt_at=bindparam("until", type_=Instant))
)
_due = (
    select(_ROWS.id, _ROWS.attempts, _ROWS.next_attempt_at, _ROWS.instance_id, _ROWS.endpoint_id)
    .where(
        _IS_WAITING,
        _ROWS.endpoint_id == bindparam("wanted_endpoint"),
        _ROWS.next_attempt_at <= database_now(),
    )
    .order_by(_ROWS.next_attempt_at, _ROWS.id)
    .limit(bindparam("wanted_limit", type_=BigInteger))
    .subquery("due")
)
_elder = webhook_deliveries.alias("elder")
_before = webhook_deliveries.alias("before")
_CANDIDATES = (
    select(_due.c.id, _due.c.attempts, _elder.c.id.label("elder_id"), _elder.c.held_until)
    .select_from(_due)
    .outerjoin(
        _elder,
        _elder.c.id
        == select(func.max(_before.c.id))
        .where(
            _before.c.endpoint_id == _due.c.endpoint_id,
            _before.c.instance_id == _due.c.instance_id,
            _before.c.id < _due.c.id,
            _before.c.status.in_((literal_column("'waiting'"), literal_column("'sending'"))),
        )
        .scalar_subquery(),
    )
    .order_by(_due.c.next_attempt_at, _due.c.id)
)
