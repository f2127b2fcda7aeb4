"""Reading instances: straight from the rows, never waiting for the cloud. What is old is looked at anew.

A read of a row that was last seen too long ago answers at once and has it looked at again in the background.
Called by routes; the values here hold everything that a route may show, and no words of HTTP.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlalchemy import Connection

from ostler.clock import Clock
from ostler.cloud.upstream import Upstream
from ostler.domain.errors import Missing, Thing
from ostler.domain.instance import Change, Instance
from ostler.domain.ledger import Interval, interval_cost
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.work import WorkKind
from ostler.store.attempts import AttemptRow, attempts_of
from ostler.store.database import Database, StoreUnavailable
from ostler.store.events import EventRow, time_line
from ostler.store.health_reports import HealthReport, find_report
from ostler.store.instances import InstanceRow
from ostler.store.ledger import intervals_of
from ostler.store.operations import OperationRow, find_operation, open_operation, operations_of
from ostler.store.revisions import read_revision
from ostler.store.sealing import Sealer
from ostler.usecases.asking import Asker, ById, Target, resolved, visible
from ostler.usecases.details import Passwords, last_look, last_passwords
from ostler.usecases.listing import Listed, ListWish, listed
from ostler.usecases.lookups import Lookups
from ostler.usecases.operation_view import OperationView, viewed
from ostler.usecases.picture import STALE_AFTER, Picture, PictureNow, no_picture
from ostler.usecases.record import Occasion, Recorder
from ostler.usecases.tags import tag_of

_NO_TIME = timedelta(0)


@dataclass(frozen=True, slots=True)
class Details:
    """Everything about one instance."""

    row: InstanceRow
    look: Upstream | None  # the last one at its present upstream, without passwords
    health: HealthReport | None
    operation: OperationRow | None  # that is open
    charges: Sequence[Interval]  # what the ledger knows of it
    observed_at: datetime | None  # when the cloud last confirmed this, by whatever means
    now: datetime
    picture: Picture  # that it was drawn from besides
    stamp: int | None = None  # of the rows; None: they may have changed since

    @property
    def cost_so_far(self) -> Usd:
        """What it has cost until now."""
        return sum((interval_cost(each, self.now) for each in self.charges), Usd(0))

    @property
    def age(self) -> timedelta | None:
        """How long ago the cloud last confirmed this."""
        return None if self.observed_at is None else max(self.now - self.observed_at, _NO_TIME)

    @property
    def is_fresh(self) -> bool:
        """Whether the cloud has confirmed it not long ago."""
        return self.age is not None and self.age < STALE_AFTER

    @property
    def still_tag(self) -> str:
        """What differs when more of this does than its age and its cost."""
        instance, operation, health, look = self.row.instance, self.operation, self.health, self.look
        return tag_of(
            instance.id,
            instance.version,
            self.row.last_used_at,
            self.observed_at,
            None if look is None else look.observed_at,
            None if health is None else health.checked_at,
            None if operation is None else (operation.operation.id, operation.operation.phases),
        )


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list, and what it was drawn from besides. `page` None: only the heading was asked for."""

    tag: str
    picture: Picture
    page: Listed | None
    stamp: int | None = None  # of all rows; None: they may have changed since


class Reading:
    """Reads instances. `picture` is what the watcher last saw of the account; `renew` has it look anew."""

    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        clock: Clock,
        picture: PictureNow = no_picture,
        renew: Callable[[], None] = lambda: None,
    ) -> None:
        self._database = database
        self._stamps = database.stamps
        self._recorder = recorder
        self._clock = clock
        self._picture = picture
        self._renew = renew
        self.list_lookups, self.details_lookups = Lookups(), Lookups()
        self._asking: set[asyncio.Task[None]] = set()
        self._asked_at: dict[str, datetime] = {}  # when a look was last asked for; thinned as it is used

    async def details(self, target: Target, asker: Asker) -> Details:
        """Return one instance; raise Missing or NameAmbiguous."""
        now = self._clock.now()
        stamp = self._stamps.of(target.instance_id) if self._stamps and isinstance(target, ById) else None

        def work(connection: Connection) -> Details:
            row = visible(connection, resolved(connection, target, asker), asker)
            return replace(self._details(connection, row, now), stamp=stamp)

        details = await self._database.read(work)
        if _is_watched(details.row.instance):
            self.details_lookups.count(is_fresh=details.is_fresh)
            self._ask_if_stale(details, now)
        return details

    def details_again(self, known: Details) -> Details | None:
        """Return the same details as of now; None when they have to be read anew. Asks nobody."""
        instance = known.row.instance
        if known.stamp is None or self._stamps is None or self._stamps.of(instance.id) != known.stamp:
            return None
        again = replace(known, now=self._clock.now())
        if known.picture != self._picture():
            return None
        if _is_watched(instance):
            if not again.is_fresh:
                return None
            self.details_lookups.count(is_fresh=True)
        return again

    async def heading(self, wish: ListWish) -> ListPage:
        """Return what a page would be drawn from now, without the page: its tag costs one small read."""
        self._count_list(self._picture())
        return await self._page(wish, lambda _: None)

    async def page(self, wish: ListWish) -> ListPage:
        """Return one page. The caller narrows it to what its asker may see."""
        return await self._page(wish, lambda connection: listed(connection, wish))

    def is_page_as_it_was(self, known: ListPage) -> bool:
        """Tell whether a page would be the same now. Asks nobody."""
        if known.stamp is None or self._stamps is None or self._stamps.of_all() != known.stamp:
            return False
        self._count_list(known.picture)
        return known.picture == self._picture()

    async def time_line(
        self, instance_id: str, asker: Asker, after: int = 0, limit: int = 500
    ) -> Sequence[EventRow]:
        """Return an instance's events, after a number of its own."""

        def work(connection: Connection) -> Sequence[EventRow]:
            visible(connection, instance_id, asker)
            return time_line(connection, instance_id, after, limit)

        return await self._database.read(work)

    async def attempts(self, instance_id: str, asker: Asker) -> Sequence[AttemptRow]:
        """Return the offers that were tried, oldest first."""

        def work(connection: Connection) -> Sequence[AttemptRow]:
            visible(connection, instance_id, asker)
            return attempts_of(connection, instance_id)

        return await self._database.read(work)

    async def operations(self, instance_id: str, asker: Asker) -> Sequence[OperationView]:
        """Return what was asked of an instance, newest first."""

        def work(connection: Connection) -> Sequence[OperationView]:
            visible(connection, instance_id, asker)
            return [viewed(connection, row) for row in operations_of(connection, instance_id)]

        return await self._database.read(work)

    async def operation(self, operation_id: str, asker: Asker) -> OperationView:
        """Return one operation; raise Missing."""

        def work(connection: Connection) -> OperationView:
            found = find_operation(connection, operation_id)
            if found is None:
                raise Missing(Thing.OPERATION, operation_id)
            try:
                visible(connection, found.operation.instance_id, asker)
            except Missing as error:
                raise Missing(Thing.OPERATION, operation_id) from error
            return viewed(connection, found)

        return await self._database.read(work)

    async def passwords(self, instance_id: str, asker: Asker, sealer: Sealer) -> Passwords:
        """Return the passwords of an instance; whether the asker may have them is the caller's matter."""

        def work(connection: Connection) -> Passwords:
            visible(connection, instance_id, asker)
            return last_passwords(connection, instance_id, sealer)

        return await self._database.read(work)

    def _details(self, connection: Connection, row: InstanceRow, now: datetime) -> Details:
        instance = row.instance
        look = last_look(connection, instance.id)
        if look is not None and look.id != instance.upstream_id:
            look = None
        looked_at = (instance.observed_at, None if look is None else look.observed_at)
        picture = self._picture()
        observed_at = picture.observed_at(instance.upstream_id, instance.placed_at, *looked_at)
        return Details(
            row=row,
            look=look,
            health=find_report(connection, instance.id),
            operation=open_operation(connection, instance.id),
            charges=tuple(row.interval for row in intervals_of(connection, [instance.id])),
            observed_at=observed_at,
            now=now,
            picture=picture,
        )

    async def _page(self, wish: ListWish, draw: Callable[[Connection], Listed | None]) -> ListPage:
        picture = self._picture()
        stamp = None if self._stamps is None else self._stamps.of_all()

        def work(connection: Connection) -> ListPage:
            tag = tag_of(wish, read_revision(connection, wish.parts), picture.taken_at)
            return ListPage(tag, picture, draw(connection), stamp)

        return await self._database.read(work)

    def _count_list(self, picture: Picture) -> None:
        taken_at = picture.taken_at
        is_fresh = taken_at is not None and self._clock.now() - taken_at < STALE_AFTER
        self.list_lookups.count(is_fresh=is_fresh)
        if not is_fresh:
            self._renew()

    def _ask_if_stale(self, details: Details, now: datetime) -> None:
        """Have what is old looked at anew, behind the reader's back: he waits for no write."""
        instance = details.row.instance
        if details.is_fresh:
            return
        asked_at = self._asked_at.get(instance.id)
        if asked_at is not None and now - asked_at < STALE_AFTER:
            return
        self._asked_at = {key: at for key, at in self._asked_at.items() if now - at < STALE_AFTER}
        self._asked_at[instance.id] = now
        asking = asyncio.create_task(self._ask(instance.id, Occasion(now)), name=f"refresh {instance.id}")
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)

    async def _ask(self, instance_id: str, occasion: Occasion) -> None:
        def ask(connection: Connection) -> None:
            self._recorder.apply(
                connection,
                instance_id,
                lambda current: Change(current).asking(WorkKind.REFRESH),
                occasion,
            )

        with contextlib.suppress(StoreUnavailable):  # a later read asks again
            await self._database.write(ask)


def _is_watched(instance: Instance) -> bool:
    """Tell whether the cloud has something of an instance that can be looked at."""
    return instance.upstream_id is not None and instance.state is not State.TERMINATED
