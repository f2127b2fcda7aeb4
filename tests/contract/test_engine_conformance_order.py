"""Which work goes first, how much at once, and how many commits it takes; on every ground."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection, insert

from ostler.engine.kind import JobContext, Kind
from ostler.engine.outcome import Done, Outcome
from ostler.store.instants import database_now_plus
from ostler.store.job_leases import Claim, claim, next_due_in
from ostler.store.jobs import JobStatus, NewJob, Priority, ask, jobs
from tests.support.engine import Ground
from tests.support.engine_bodies import Gate, Notes

HIGH = Kind("high", priority=Priority.HIGH)
NORMAL = Kind("normal")
LOW = Kind("low", priority=Priority.LOW)
ALL = ("high", "normal", "low")
PAST = timedelta(seconds=-1)


def ask_for(wanted: Sequence[NewJob], connection: Connection) -> None:
    for job in wanted:
        ask(connection, job)


def ask_for_20_000(connection: Connection) -> None:
    overdue = database_now_plus(-timedelta(hours=1))
    one = {
        "kind": "low",
        "generation": 0,
        "priority": Priority.LOW,
        "status": JobStatus.WAITING,
        "payload": {},
    }
    rows = [{**one, "subject": str(number), "attempts": 0, "lease_epoch": 0} for number in range(20_000)]
    connection.execute(insert(jobs).values(due_at=overdue, created_at=overdue), rows)


def claimed_kinds(connection: Connection, limit: int) -> list[str]:
    wish = Claim("somebody", timedelta(seconds=15), ALL, limit)
    return [job.kind for job in claim(connection, wish)]


async def test_a_high_job_does_not_wait_behind_a_backlog_of_20_000_low_ones(ground: Ground) -> None:
    order: list[str] = []
    has_begun, has_run = asyncio.Event(), asyncio.Event()

    async def body(context: JobContext) -> Outcome:
        order.append(context.subject)
        if len(order) == 50:
            has_begun.set()
        if context.subject == "urgent":
            has_run.set()
        return Done()

    await (await ground.process({})).database.write(ask_for_20_000)
    worker = await ground.process({LOW: body, HIGH: body})
    await has_begun.wait()
    await worker.ask(HIGH.of("urgent"))
    asked_after = len(order)
    await has_run.wait()
    assert order.index("urgent") - asked_after < 200
    worker.kill()


async def test_high_goes_before_normal_and_normal_before_low(ground: Ground) -> None:
    database = (await ground.process({})).database
    wanted = [kind.of(str(number)) for number in range(2) for kind in (LOW, NORMAL, HIGH)]
    await database.write(lambda connection: ask_for(wanted, connection))
    await ground.clock.sleep(0.01)
    order = [await database.write(lambda connection: claimed_kinds(connection, 2)) for _ in range(3)]
    assert order == [["high"] * 2, ["normal"] * 2, ["low"] * 2]


async def test_work_that_has_waited_long_enough_goes_before_fresh_work_of_a_higher_priority(
    ground: Ground,
) -> None:
    database = (await ground.process({})).database
    wanted = [
        HIGH.of("fresh"),
        NORMAL.of("older than half a minute", due=-timedelta(seconds=31)),
        LOW.of("older than two minutes", due=-timedelta(seconds=122)),
        LOW.of("younger than two minutes", due=-timedelta(seconds=115)),
    ]
    await database.write(lambda connection: ask_for(wanted, connection))
    await ground.clock.sleep(0.01)
    order = [(await database.write(lambda connection: claimed_kinds(connection, 1)))[0] for _ in range(4)]
    assert order == ["low", "normal", "high", "low"]


async def test_slots_are_kept_for_high_work_when_the_others_are_full(ground: Ground) -> None:
    slow, urgent = Gate(), Notes()
    process = await ground.process({LOW: slow, HIGH: urgent}, figures=replace(ground.figures, slots=5))
    await process.database.write(lambda connection: ask_for([LOW.of(str(n)) for n in range(10)], connection))
    await ground.until(lambda: len(slow.entered) == 4)
    await process.ask(HIGH.of("urgent"))
    await ground.until(lambda: urgent.subjects == ["urgent"])
    assert len(slow.entered) == 4
    slow.may_leave.set()
    await ground.until(lambda: len(slow.entered) == 10)


async def test_no_more_bodies_run_at_once_than_there_are_slots(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({HIGH: gate}, figures=replace(ground.figures, slots=3))
    await process.database.write(lambda connection: ask_for([HIGH.of(str(n)) for n in range(9)], connection))
    await ground.until(lambda: len(gate.entered) == 3)
    await ground.clock.sleep(ground.figures.longest_poll.total_seconds() * 3)
    assert len(gate.entered) == 3
    gate.may_leave.set()
    await ground.until_all("done", count=9)


async def test_accepted_work_does_not_use_up_the_slots_of_the_background(ground: Ground) -> None:
    accepted, background = Gate(), Notes()
    process = await ground.process(
        {HIGH: accepted, NORMAL: background}, figures=replace(ground.figures, slots=2)
    )
    for number in range(6):
        await process.accept(HIGH.of(str(number)))
    await process.ask(NORMAL.of("a"))
    await ground.until(lambda: background.subjects == ["a"])
    assert len(accepted.entered) == 6
    accepted.may_leave.set()


async def test_results_and_claims_are_written_in_groups(ground: Ground) -> None:
    process = await ground.process({NORMAL: Notes()}, figures=replace(ground.figures, slots=50))
    wanted = [NORMAL.of(str(number)) for number in range(1000)]
    await process.database.write(lambda connection: ask_for(wanted, connection))
    await ground.until(lambda: process.database.write_count > 1)
    await ground.until_all("done", count=1000)
    assert process.database.write_count < 200


async def test_the_next_due_time_is_known_without_looking_at_what_is_due_already(ground: Ground) -> None:
    database = (await ground.process({})).database
    assert await database.write(lambda connection: next_due_in(connection, ALL)) is None
    wanted = [
        LOW.of("now", due=PAST),
        NORMAL.of("later", due=timedelta(hours=2)),
        HIGH.of("a", due=timedelta(hours=3)),
    ]
    await database.write(lambda connection: ask_for(wanted, connection))
    ahead = await database.write(lambda connection: next_due_in(connection, ALL))
    assert ahead is not None
    assert timedelta(minutes=119) < ahead <= timedelta(hours=2)
