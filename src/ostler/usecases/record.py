"""The one way in which an instance changes: a pure step between a locked row and everything that follows.

Inside one transaction of the caller: lock the row, let the domain say what becomes of it, write it under its
version, number its events without a gap, open and end operations, keep the ledger, ask for the work, tell the
sinks and announce the topics `events` and `instance:<id>`. Called by use cases, jobs and the watcher; decides
nothing itself.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from sqlalchemy import Connection

from ostler.domain.errors import Missing, Thing
from ostler.domain.events import EventDraft, PublicEvent
from ostler.domain.failures import Failure
from ostler.domain.instance import Change, Instance
from ostler.domain.operations import Operation, OperationKind, Outcome
from ostler.domain.work import Work
from ostler.store.events import TOPIC, EventRow, append_event
from ostler.store.instances import InstanceRow, Placement, insert_instance, lock_instance, update_instance
from ostler.store.operations import OperationRow, insert_operation, open_operation, update_operation
from ostler.store.product_starts import add_start
from ostler.store.signals import announce
from ostler.usecases.audit import note_subject
from ostler.usecases.bookkeeping import cost_so_far, keep_ledger
from ostler.usecases.failure_told import failure_told
from ostler.usecases.progress import Opening, Progress, progressed, told_of


@dataclass(frozen=True, slots=True)
class Occasion:
    """When something is written, and in whose name: a key's, or that of a part of ours."""

    at: datetime
    actor: str = "ostler"


@dataclass(frozen=True, slots=True)
class Edit:
    """What is to be written about one instance."""

    change: Change
    placement: Placement | None = None  # None: where it is stays as it is
    opens: Opening | None = None
    details: Mapping[str, object] = field(default_factory=dict)  # of the change's events


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was written."""

    row: InstanceRow
    events: tuple[EventRow, ...] = ()
    operation: Operation | None = None  # that is open, or was until this change ended it

    @property
    def instance(self) -> Instance:
        """The instance as it is now."""
        return self.row.instance


class EventSink(Protocol):
    """Hears of every event inside its transaction: what it writes stands or falls with the event."""

    def __call__(self, connection: Connection, event: EventRow, row: InstanceRow | None, /) -> None:
        """Write what follows from an event; `row` is its instance after it."""
        ...


class WorkDesk(Protocol):
    """Takes work in, inside the transaction that wants it."""

    def __call__(self, connection: Connection, work: Work, /) -> None:
        """Have the work done."""
        ...


class Recorder:
    """Writes instances. Its methods run inside a transaction, maybe on another thread, maybe twice."""

    def __init__(self, desk: WorkDesk, sinks: Sequence[EventSink] = ()) -> None:
        self._desk = desk
        self._sinks = tuple(sinks)

    def admit(
        self, connection: Connection, edit: Edit, occasion: Occasion, envs: bytes | None = None
    ) -> Recorded:
        """Write an instance that is new, with its sealed environment values."""
        instance = edit.change.instance
        before = InstanceRow(replace(instance, upstream_id=None), changed_at=occasion.at)
        writing = _writing(before, None, edit, occasion)
        note_subject("instance", instance.id, instance.spec.project)
        insert_instance(connection, writing.after, envs)
        return self._follow(connection, writing)

    def apply(
        self,
        connection: Connection,
        instance_id: str,
        step: Callable[[Instance], Change],
        occasion: Occasion,
    ) -> Recorded:
        """Change one instance by a step of the domain; raise Missing when there is none."""
        before = self.lock(connection, instance_id)
        return self.write(connection, before, Edit(step(before.instance)), occasion)

    def lock(self, connection: Connection, instance_id: str) -> InstanceRow:
        """Return a row that nobody else changes until the end of the transaction; raise Missing."""
        row = lock_instance(connection, instance_id)
        if row is None:
            raise Missing(Thing.INSTANCE, instance_id)
        note_subject("instance", instance_id, row.instance.spec.project)
        return row

    def write(self, connection: Connection, before: InstanceRow, edit: Edit, occasion: Occasion) -> Recorded:
        """Write what became of a locked row. What differs only in when it was last seen is not written."""
        if _is_unchanged(before, edit):
            for work in edit.change.work:
                self._desk(connection, work)
            return Recorded(before)
        found = open_operation(connection, before.instance.id)
        writing = _writing(before, None if found is None else found.operation, edit, occasion)
        after = update_instance(connection, before, writing.after)
        return self._follow(connection, replace(writing, after=after))

    def tell(self, connection: Connection, event: EventRow) -> EventRow:
        """Write an event that is about no instance: the account, a stranger, a budget."""
        written = replace(event, id=append_event(connection, event))
        announce(connection, TOPIC)
        for sink in self._sinks:
            sink(connection, written, None)
        return written

    def _follow(self, connection: Connection, writing: "_Writing") -> Recorded:
        """Write everything that follows from a row that was just written."""
        before, after = writing.before, writing.after
        _write_operations(connection, writing)
        keep_ledger(connection, before, after, writing.occasion.at)
        _note_start(connection, before, after)
        events = tuple(self._append(connection, event, after) for event in _events(connection, writing))
        operation = writing.progress.current
        for work in writing.edit.change.work:
            self._desk(connection, work if operation is None else replace(work, operation_id=operation.id))
        announce(connection, topic_of(after.instance.id))
        return Recorded(after, events, writing.progress.current)

    def _append(self, connection: Connection, event: EventRow, row: InstanceRow) -> EventRow:
        written = replace(event, id=append_event(connection, event))
        announce(connection, TOPIC)
        for sink in self._sinks:
            sink(connection, written, row)
        return written


def topic_of(instance_id: str) -> str:
    """Return the topic that is announced whenever an instance's row was written."""
    return f"instance:{instance_id}"


@dataclass(frozen=True, slots=True)
class _Writing:
    """One change on its way into the store."""

    before: InstanceRow
    after: InstanceRow
    edit: Edit
    progress: Progress
    occasion: Occasion


def _writing(before: InstanceRow, open_now: Operation | None, edit: Edit, occasion: Occasion) -> _Writing:
    instance = edit.change.instance
    progress = progressed(open_now, edit.opens, instance, occasion.at)
    after = replace(
        before,
        instance=instance,
        placement=edit.placement or before.placement,
        changed_at=occasion.at,
        sequence=before.sequence + len(edit.change.events) + len(progress.ended),
    )
    return _Writing(before, after, edit, progress, occasion)


def _is_unchanged(before: InstanceRow, edit: Edit) -> bool:
    if edit.change.events or edit.opens or edit.placement not in {None, before.placement}:
        return False
    after = edit.change.instance
    return replace(after, observed_at=before.instance.observed_at) == before.instance


def _write_operations(connection: Connection, writing: _Writing) -> None:
    progress = writing.progress
    if progress.superseded is not None:
        update_operation(connection, progress.superseded)
    if progress.current is None or not progress.is_changed:
        return
    if progress.is_new:
        insert_operation(connection, OperationRow(progress.current, writing.occasion.actor))
    else:
        update_operation(connection, progress.current)


def _note_start(connection: Connection, before: InstanceRow, after: InstanceRow) -> None:
    ready_at, began_at = after.instance.ready_at, after.instance.start_began_at
    if before.instance.ready_at is not None or ready_at is None or began_at is None:
        return
    if after.placement is not None:
        add_start(connection, after.placement.product_name, ready_at - began_at, ready_at)


def _events(connection: Connection, writing: _Writing) -> Iterator[EventRow]:
    """Return the change's events and those of its operations, numbered."""
    sequence = writing.before.sequence
    for draft in _drafts(connection, writing):
        sequence += 1
        yield replace(draft, sequence=sequence)


def _drafts(connection: Connection, writing: _Writing) -> Iterator[EventRow]:
    progress, instance = writing.progress, writing.after.instance
    blank = EventRow(
        name=PublicEvent.CREATING,
        at=writing.occasion.at,
        instance_id=instance.id,
        project=instance.spec.project,
        actor=writing.occasion.actor,
    )
    if progress.superseded is not None:
        yield _of_operation(blank, progress.superseded, writing.before.instance, {})
    for draft in writing.edit.change.events:
        yield _of_change(blank, draft, writing)
    if progress.has_ended and progress.current is not None:
        cost = _final_cost(connection, progress.current, blank.at)
        yield _of_operation(blank, progress.current, instance, cost)


def _of_change(blank: EventRow, draft: EventDraft, writing: _Writing) -> EventRow:
    operation = writing.progress.current
    began_at = writing.after.instance.created_at if operation is None else operation.opened_at
    return replace(
        blank,
        name=draft.name,
        from_state=draft.from_state,
        to_state=draft.to_state,
        reason=draft.reason,
        is_alarm=draft.is_alarm,
        operation_id=None if operation is None else operation.id,
        elapsed=blank.at - began_at,
        details={**draft.details, **writing.edit.details},
    )


def _of_operation(
    blank: EventRow, operation: Operation, instance: Instance, more: Mapping[str, object]
) -> EventRow:
    failure = operation.failure
    return replace(
        blank,
        name=told_of(operation),
        from_state=instance.state.value,
        to_state=instance.state.value,
        reason="" if failure is None else failure.message,
        operation_id=operation.id,
        elapsed=blank.at - operation.opened_at,
        details={"kind": operation.kind.value, **_told_error(failure), **more},
    )


def _told_error(failure: Failure | None) -> Mapping[str, object]:
    return {} if failure is None else {"error": failure_told(failure)}


def _final_cost(connection: Connection, operation: Operation, at: datetime) -> Mapping[str, object]:
    if operation.kind is not OperationKind.DELETE or operation.outcome is not Outcome.SUCCEEDED:
        return {}
    return {"cost": float(cost_so_far(connection, operation.instance_id, at).amount)}
