"""The sending loop of a process: claims what is due, sends it, writes what became of it.

It runs apart from the engine's job slots, so that slow receivers take nothing from instances. Several
processes share the work by leases; a lease outlasts the longest attempt, so that nobody else sends
meanwhile. A process that dies between sending and writing makes the receiver see a message again under the
same id: at least once. What is known about the next due delivery is only haste; a poll stands behind it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.engine.bell import Bell
from ostler.engine.outlive import outlive
from ostler.notify.claims import Taken, claim, record
from ostler.notify.keyring import Keyring
from ostler.notify.outbound import Reply
from ostler.notify.schedule import HOLD, PATIENCE
from ostler.notify.signing import Message, UnusableSecret, signed_headers
from ostler.store.database import Database, StoreUnavailable
from ostler.store.sealing import SealBroken
from ostler.store.webhook_deliveries import TOPIC
from ostler.store.webhook_endpoints import DEFAULT_ID, EndpointRow, endpoints_by_id
from ostler.store.webhook_leases import (
    Claimed,
    Terms,
    hand_back,
    is_anything_to_do,
    next_due_in,
    rescue_all,
)

Post = Callable[[str, Mapping[str, str], bytes], Awaitable[Reply]]  # `Outbound.post`
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)
_MARGIN = timedelta(
    seconds=15
)  # of a lease over an attempt: for a pause before it and a slow database after it
_AGAIN_S = 1.0  # between two tries to write a result


@dataclass(frozen=True, slots=True)
class SenderConfig:
    """How one process sends. `owner` is this run of this process, never used again by another."""

    owner: str
    timeout: timedelta = timedelta(seconds=10)  # of an attempt: the outbound's own
    at_once: int = 64
    poll: timedelta = timedelta(seconds=2)

    @property
    def terms(self) -> Terms:
        """The terms under which this process takes deliveries."""
        return Terms(self.owner, self.timeout + _MARGIN, HOLD, PATIENCE)


@dataclass(frozen=True, slots=True)
class _Errand:
    """One claimed delivery with all that sending it needs."""

    claimed: Claimed
    endpoint: EndpointRow
    default: EndpointRow
    begin_before: float  # by the monotonic clock: later, the lease might not outlast the attempt


class Sender:
    """Sends until it is stopped."""

    def __init__(
        self, database: Database, post: Post, keyring: Keyring, clock: Clock, config: SenderConfig
    ) -> None:
        self._database = database
        self._post = post
        self._keyring = keyring
        self._clock = clock
        self._config = config
        self._bell = Bell(clock)
        self._sending: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Send for ever; cancel to stop, then `drain`."""
        stop_listening = self._database.signals.listen(TOPIC, self._bell.ring)
        try:
            if self._database.is_exclusive:
                await self._take_over()
            while True:
                pause = await outlive(self._turn, "sending webhooks")
                await self._bell.wait((pause or self._config.poll).total_seconds())
        finally:
            stop_listening()

    async def drain(self, grace: timedelta) -> None:
        """Let what is on its way arrive for a while, stop the rest, and hand it to others."""
        if self._sending:
            _, late = await asyncio.wait(self._sending, timeout=grace.total_seconds())
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)
        owner = self._config.owner
        await outlive(lambda: self._database.write(lambda c: hand_back(c, owner)), "handing webhooks back")

    async def _take_over(self) -> None:
        """Free what the last process held: no other one can be alive."""
        while await outlive(lambda: self._database.write(rescue_all), "taking over webhooks") is None:
            await self._clock.sleep(_AGAIN_S)

    async def _turn(self) -> timedelta:
        """Claim and begin to send as much as there is room for; return how long there is nothing to do."""
        has_more = True
        while has_more and (room := self._config.at_once - len(self._sending)) > 0:
            is_due, next_in = await self._database.read(_outlook)
            if not is_due:
                return min(self._config.poll, next_in or self._config.poll)
            has_more = await self._claim(room)
        return self._config.poll

    async def _claim(self, room: int) -> bool:
        """Begin to send; tell whether there may be more to claim."""
        asked_at = self._clock.monotonic()  # before the lease began, so that it is never thought longer
        taken, endpoints = await self._database.write(lambda c: _claimed(c, room, self._config.terms))
        for claimed in taken.deliveries:
            errand = _Errand(
                claimed,
                endpoints[claimed.endpoint_id],
                endpoints[DEFAULT_ID],
                begin_before=asked_at + _MARGIN.total_seconds() / 2,
            )
            task = asyncio.create_task(self._run(errand), name=f"webhook-{claimed.id}")
            self._sending.add(task)
            task.add_done_callback(self._done)
        return bool(taken.deliveries) or taken.has_more

    def _done(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        self._bell.ring()

    async def _run(self, errand: _Errand) -> None:
        claimed = errand.claimed
        ids = {
            "delivery_id": claimed.id,
            "endpoint_id": claimed.endpoint_id,
            "instance_id": claimed.instance_id,
        }
        with structlog.contextvars.bound_contextvars(**{name: each for name, each in ids.items() if each}):
            await outlive(lambda: self._send(errand), "sending a webhook")

    async def _send(self, errand: _Errand) -> None:
        claimed = errand.claimed
        if self._clock.monotonic() > errand.begin_before:
            _log.warning("webhook begun too late for its lease")
            return
        reply = await self._attempt(errand)
        _log.info(
            "webhook attempt",
            webhook_event=claimed.event,
            status=reply.status,
            error=reply.error,
            latency_ms=reply.latency_ms,
        )
        await self._write(errand, reply)

    async def _attempt(self, errand: _Errand) -> Reply:
        claimed, endpoint = errand.claimed, errand.endpoint
        message = Message(claimed.message_id, claimed.event, claimed.body.encode())
        try:
            secret = self._keyring.secret_of(endpoint, errand.default)
            headers = signed_headers(message, secret, self._clock.now())
        except (SealBroken, UnusableSecret) as error:
            return Reply(None, 0, f"not sent, for it cannot be signed: {error}")
        if endpoint.url is None:
            return Reply(None, 0, "not sent: WEBHOOK_URL is not set any more")
        return await self._post(endpoint.url, headers, message.body)

    async def _write(self, errand: _Errand, reply: Reply) -> None:
        """Write what became of an attempt; waiting for a database that is away may save a repetition."""
        while True:
            try:
                status = await self._database.write(lambda c: record(c, errand.claimed, reply))
            except StoreUnavailable:
                await self._clock.sleep(_AGAIN_S)
            else:
                if status is None:
                    _log.warning("webhook lease lost")
                return


def _outlook(connection: Connection) -> tuple[bool, timedelta | None]:
    return is_anything_to_do(connection), next_due_in(connection)


def _claimed(connection: Connection, room: int, terms: Terms) -> tuple[Taken, Mapping[str, EndpointRow]]:
    taken = claim(connection, room, terms)
    ids = {each.endpoint_id for each in taken.deliveries}
    return taken, endpoints_by_id(connection, _with_default(ids))


def _with_default(ids: set[str]) -> Sequence[str]:
    return sorted(ids | {DEFAULT_ID})
