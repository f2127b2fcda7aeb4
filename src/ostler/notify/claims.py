"""Claims and results of deliveries: the rules of `schedule.py` applied to the rows, one transaction each.

Everything here runs inside `Database.write`. A process asks `claim` for as much as it has room for, sends
outside any transaction, and hands each result to `record`, where it counts only while the lease holds.
"""

from dataclasses import dataclass
from datetime import timedelta

from sqlalchemy import Connection

from ostler.notify.outbound import Reply
from ostler.notify.schedule import AT_ONCE_PER_ENDPOINT, chosen, next_attempt
from ostler.store.signals import announce
from ostler.store.webhook_deliveries import TOPIC, Attempt, DeliveryStatus
from ostler.store.webhook_leases import (
    Claimed,
    Held,
    Terms,
    began_at,
    close,
    due_candidates,
    held,
    let_next_pass,
    lock_due_endpoints,
    lock_endpoint,
    postpone,
    rescue,
    sending_counts,
    take,
    wait,
)

_LOOKED_AT = 64  # due deliveries of one endpoint in one claim


@dataclass(frozen=True, slots=True)
class Taken:
    """What was claimed, and whether claiming again at once may find more."""

    deliveries: tuple[Claimed, ...]
    has_more: bool = False


def claim(connection: Connection, room: int, terms: Terms) -> Taken:
    """Take what is due, at most as much as there is room for; also what a dead process has left behind."""
    rescue(connection)
    full = [each for each, count in sending_counts(connection).items() if count >= AT_ONCE_PER_ENDPOINT]
    endpoint_ids = lock_due_endpoints(connection, full, room)
    sending = sending_counts(connection)  # again: others may have claimed until the locks were ours
    taken: list[Claimed] = []
    has_more = False
    now = began_at(connection)
    for endpoint_id in endpoint_ids:
        free = min(AT_ONCE_PER_ENDPOINT - sending[endpoint_id], room - len(taken))
        due = due_candidates(connection, endpoint_id, _LOOKED_AT)
        choice = chosen(due, free, now)
        postpone(connection, choice.postpone)
        taken += take(connection, choice.take, terms)
        # those put off have hidden others from sight
        has_more = has_more or (len(due) == _LOOKED_AT and bool(choice.postpone))
    return Taken(tuple(taken), has_more)


def record(connection: Connection, claimed: Claimed, reply: Reply) -> DeliveryStatus | None:
    """Write what became of an attempt; None when the lease is lost, and nothing was written."""
    lock_endpoint(connection, claimed.endpoint_id)
    row = held(connection, claimed.id, claimed.epoch)
    if row is None:
        return None
    attempt = Attempt(row.now, reply.latency_ms, reply.status, reply.error)
    status = _settle(connection, claimed, row, reply, (*row.log, attempt))
    if row.instance_id is not None and (status is not DeliveryStatus.WAITING or row.attempts == 1):
        passes_at = row.held_until if status is DeliveryStatus.WAITING else row.now
        let_next_pass(connection, claimed.endpoint_id, row.instance_id, claimed.id, passes_at)
    announce(connection, TOPIC)
    return status


def _settle(
    connection: Connection, claimed: Claimed, row: Held, reply: Reply, log: tuple[Attempt, ...]
) -> DeliveryStatus:
    if reply.is_delivered:
        close(connection, claimed.id, DeliveryStatus.DELIVERED, log)
        return DeliveryStatus.DELIVERED
    asked = None if reply.retry_after_s is None else timedelta(seconds=reply.retry_after_s)
    then = next_attempt(row.now, row.round_attempts, row.give_up_at, asked)
    if then is None:
        close(connection, claimed.id, DeliveryStatus.FAILED, log)
        return DeliveryStatus.FAILED
    wait(connection, claimed.id, then, log)
    return DeliveryStatus.WAITING
