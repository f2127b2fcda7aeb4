"""What an engine promises about one job's life, on the twin, on SQLite and on PostgreSQL."""

from datetime import timedelta

import pytest
from sqlalchemy import Connection

from ostler.engine.kind import JobContext, Kind, LeaseLost
from ostler.engine.outcome import Done, GiveUp, Outcome, Retry, Wait
from ostler.store.job_views import find_job, job_stats, retry_job
from ostler.store.jobs import JobStatus
from tests.support.engine import Ground
from tests.support.engine_bodies import Gate, Notes

TASK = Kind("task")
BOUNDED = Kind("bounded", max_attempts=3)


async def test_asked_work_is_done_and_its_row_says_so(ground: Ground) -> None:
    notes = Notes()
    process = await ground.process({TASK: notes})
    job_id = await process.ask(TASK.of("a", generation=4, payload={"operation": "o-1"}))
    await ground.until_all("done")
    (job,) = await ground.jobs()
    assert (job.id, job.subject, job.generation, job.attempts, job.error) == (job_id, "a", 4, 1, None)
    assert (notes.seen[0].payload, notes.seen[0].attempt, notes.seen[0].epoch) == ({"operation": "o-1"}, 1, 1)
    assert job.started_at is not None
    assert job.finished_at is not None
    assert job.created_at <= job.started_at <= job.finished_at


async def test_asking_twice_is_asking_once_until_it_is_done(ground: Ground) -> None:
    notes = Notes()
    process = await ground.process({TASK: notes})
    later = timedelta(seconds=0.3)
    first = await process.ask(TASK.of("a", due=later))
    assert await process.ask(TASK.of("a", due=later)) == first
    assert await process.ask(TASK.of("a", generation=1, due=later)) != first
    await ground.until_all("done", count=2)
    assert notes.subjects == ["a", "a"]
    assert await process.ask(TASK.of("a")) > first
    await ground.until_all("done", count=3)


async def test_asking_again_brings_waiting_work_forward(ground: Ground) -> None:
    notes = Notes()
    process = await ground.process({TASK: notes})
    await process.ask(TASK.of("a", due=timedelta(hours=1)))
    await process.ask(TASK.of("a"))
    await ground.until_all("done")


async def test_work_asked_for_while_it_runs_runs_once_more(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({TASK: gate})
    first = await process.ask(TASK.of("a"))
    await gate.has_entered.wait()
    assert await process.ask(TASK.of("a")) == first
    await process.accept(TASK.of("a"))
    gate.may_leave.set()
    await ground.until_all("done")
    assert len(gate.entered) == 2


async def test_work_asked_for_while_it_runs_does_not_wait_as_long_as_its_body_thought(ground: Ground) -> None:
    gate, notes = Gate(), Notes(Wait(timedelta(hours=1)))

    async def body(context: JobContext) -> Outcome:
        await gate(context)
        return await notes(context)

    process = await ground.process({TASK: body})
    await process.ask(TASK.of("a"))
    await gate.has_entered.wait()
    await process.ask(TASK.of("a"))
    gate.may_leave.set()
    await ground.until_all("done")
    assert len(notes.seen) == 2


async def test_asking_again_does_not_shorten_a_back_off_but_accepting_does(ground: Ground) -> None:
    notes = Notes(Retry("no", after=timedelta(hours=1)))
    process = await ground.process({TASK: notes})
    await process.ask(TASK.of("a"))
    await ground.until(lambda: _has_backed_off(ground))
    due_at = (await ground.jobs())[0].due_at
    await process.ask(TASK.of("a"))
    assert (await ground.jobs())[0].due_at == due_at
    await process.accept(TASK.of("a"))
    await ground.until_all("done")
    assert (await ground.jobs())[0].attempts == 2


async def _has_backed_off(ground: Ground) -> bool:
    return [(job.status, job.attempts) for job in await ground.jobs()] == [("waiting", 1)]


async def test_accepted_work_starts_right_after_the_commit(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({TASK: gate})
    began = ground.clock.monotonic()
    await process.accept(TASK.of("a"))
    await gate.has_entered.wait()
    assert ground.clock.monotonic() - began < 0.2
    (job,) = await ground.jobs()
    assert (job.status, job.lease_owner) == ("running", "process-1")
    gate.may_leave.set()


async def test_accepting_what_waits_takes_it_over_at_once(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({TASK: gate})
    await process.ask(TASK.of("a", due=timedelta(hours=1)))
    await process.accept(TASK.of("a"))
    await gate.has_entered.wait()
    gate.may_leave.set()
    await ground.until_all("done")
    assert len(gate.entered) == 1


async def test_accepted_work_of_a_transaction_that_fails_never_starts(ground: Ground) -> None:
    notes = Notes()
    process = await ground.process({TASK: notes})

    def work(connection: Connection) -> None:
        process.engine.accept(connection, TASK.of("a"))
        raise KeyError

    with pytest.raises(KeyError):
        await process.database.write(work)
    await process.accept(TASK.of("b"))
    await ground.until_all("done")
    assert notes.subjects == ["b"]


async def test_a_process_whose_accepted_slots_are_full_still_gets_the_work_done(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({TASK: gate})
    for number in range(200):
        await process.accept(TASK.of(str(number)))
    gate.may_leave.set()
    await ground.until_all("done", count=100 + 100)
    assert len(gate.entered) == 200


async def test_waiting_is_an_instant_in_the_row(ground: Ground) -> None:
    notes = Notes(Wait(timedelta(seconds=0.5)))
    process = await ground.process({TASK: notes})
    await process.ask(TASK.of("a"))
    await ground.until(lambda: len(notes.seen) == 2)
    waited = notes.seen[1].claimed_at - notes.seen[0].claimed_at
    assert timedelta(seconds=0.5) <= waited < timedelta(seconds=0.8)
    assert notes.seen[1].attempt == 1


async def test_waiting_until_an_instant_of_the_database_clock(ground: Ground) -> None:
    notes = Notes()

    async def body(context: JobContext) -> Outcome:
        await notes(context)
        return Wait(notes.seen[0].claimed_at + timedelta(seconds=0.4)) if len(notes.seen) == 1 else Done()

    process = await ground.process({TASK: body})
    await process.ask(TASK.of("a"))
    await ground.until_all("done")
    assert notes.seen[1].claimed_at - notes.seen[0].claimed_at >= timedelta(seconds=0.4)


async def test_an_error_is_tried_again_until_the_attempts_of_a_bounded_kind_are_used_up(
    ground: Ground,
) -> None:
    notes = Notes(Retry("first"), ValueError("second"), Retry("third"))
    process = await ground.process({BOUNDED: notes})
    await process.ask(BOUNDED.of("a"))
    await ground.until_all("failed")
    (job,) = await ground.jobs()
    assert (job.attempts, job.error) == (3, "third")
    assert [context.attempt for context in notes.seen] == [1, 2, 3]
    assert notes.seen[2].claimed_at - notes.seen[1].claimed_at >= timedelta(seconds=0.1)


async def test_an_unbounded_kind_is_tried_without_end_and_keeps_the_last_error(ground: Ground) -> None:
    notes = Notes(*[ValueError(f"no {number}") for number in range(4)])
    process = await ground.process({TASK: notes})
    job_id = await process.ask(TASK.of("a"))
    await ground.until(lambda: len(notes.seen) == 4)
    job = await process.database.read(lambda connection: find_job(connection, job_id))
    assert job is not None
    assert job.status != JobStatus.FAILED
    await ground.until_all("done")


async def test_an_unexpected_error_is_written_with_its_class_and_text(ground: Ground) -> None:
    process = await ground.process({Kind("one", max_attempts=1): Notes(KeyError("nul \0 byte"))})
    await process.ask(Kind("one", max_attempts=1).of("a"))
    await ground.until_all("failed")
    assert (await ground.jobs())[0].error == "KeyError: 'nul \\x00 byte'"


async def test_giving_up_fails_at_once_and_a_person_can_have_it_tried_again(ground: Ground) -> None:
    notes = Notes(GiveUp("never\0 so"))
    process = await ground.process({TASK: notes})
    job_id = await process.ask(TASK.of("a"))
    await ground.until_all("failed")
    assert (await ground.jobs())[0].error == "never so"
    assert await process.database.write(lambda connection: retry_job(connection, job_id))
    await ground.until_all("done")
    assert not await process.database.write(lambda connection: retry_job(connection, job_id))


async def test_a_failed_job_is_not_retried_beside_an_open_one_of_its_like(ground: Ground) -> None:
    process = await ground.process({TASK: Notes(GiveUp("no"))})
    failed = await process.ask(TASK.of("a"))
    await ground.until_all("failed")
    await process.ask(TASK.of("a", due=timedelta(hours=1)))
    assert not await process.database.write(lambda connection: retry_job(connection, failed))


async def test_cancelling_stops_a_running_body_and_its_result_counts_no_more(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({TASK: gate})
    job_id = await process.ask(TASK.of("a"))
    await gate.has_entered.wait()
    assert await process.database.write(lambda connection: process.engine.cancel(connection, job_id))
    await ground.until(lambda: gate.was_cancelled)
    await ground.until_all("cancelled")
    with pytest.raises(LeaseLost):
        await gate.entered[0].write(lambda _: None)
    assert not await process.database.write(lambda connection: process.engine.cancel(connection, job_id))


async def test_a_body_that_takes_too_long_is_stopped_and_tried_again(ground: Ground) -> None:
    slow = Kind("slow", max_attempts=1, time_limit=timedelta(seconds=0.2))
    gate = Gate()
    process = await ground.process({slow: gate})
    await process.ask(slow.of("a"))
    await ground.until_all("failed")
    assert gate.was_cancelled
    assert (await ground.jobs())[0].error == "no end within 0:00:00.200000"


async def test_a_kind_that_this_process_does_not_know_is_left_to_others(ground: Ground) -> None:
    notes = Notes()
    process = await ground.process({TASK: notes})
    await process.accept(Kind("newer").of("a"))
    await process.ask(TASK.of("b"))
    await ground.until(lambda: notes.subjects == ["b"])
    statuses = {job.kind: job.status for job in await ground.jobs()}
    assert statuses["newer"] == "waiting"


async def test_the_figures_of_all_work(ground: Ground) -> None:
    process = await ground.process({TASK: Notes(Done(), GiveUp("no"))})
    await process.ask(TASK.of("a"))
    await ground.until_all("done")
    await process.ask(TASK.of("b"))
    await process.ask(Kind("newer").of("c"))
    await ground.until(lambda: _is_failed(ground))
    stats = await process.database.read(job_stats)
    counts = {
        (count.kind, str(count.status)): count.count for count in stats.counts if "engine" not in count.kind
    }
    assert counts == {("task", "done"): 1, ("task", "failed"): 1, ("newer", "waiting"): 1}
    assert stats.finished_last_minute == stats.finished_last_hour == 2
    assert timedelta(0) <= stats.oldest_wait < timedelta(seconds=30)


async def _is_failed(ground: Ground) -> bool:
    return any(job.status == "failed" for job in await ground.jobs())
