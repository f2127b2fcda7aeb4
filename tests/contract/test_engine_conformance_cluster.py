"""What an engine promises when processes share work, pause, die or lose the database; on every ground."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest
from sqlalchemy import Connection

from ostler.engine.kind import JobContext, Kind, LeaseLost
from ostler.engine.leader import LeadershipLost, Term
from ostler.engine.outcome import Done, Outcome, Wait
from ostler.store.database import StoreUnavailable
from ostler.store.job_leases import Finish, finish, is_held
from ostler.store.job_views import find_job
from ostler.store.jobs import JobStatus, Lease
from tests.support.engine import Ground
from tests.support.engine_bodies import Gate, Notes

TASK = Kind("task")


async def test_two_processes_share_the_work_and_each_job_runs_once(ground: Ground) -> None:
    one, other = Notes(), Notes()
    first = await ground.process({TASK: one})
    await ground.process({TASK: other})

    def ask_for_many(connection: Connection) -> None:
        for number in range(200):
            first.engine.ask(connection, TASK.of(str(number)))

    await first.database.write(ask_for_many)
    await ground.until_all("done", count=200)
    assert sorted(one.subjects + other.subjects) == sorted(map(str, range(200)))
    assert one.subjects
    assert other.subjects


async def test_work_asked_for_by_one_process_can_be_done_by_another(ground: Ground) -> None:
    asking = await ground.process({})
    notes = Notes()
    await ground.process({TASK: notes})
    await asking.ask(TASK.of("a"))
    await ground.until_all("done")
    assert notes.subjects == ["a"]


async def test_the_jobs_of_a_killed_process_are_done_by_another(ground: Ground) -> None:
    gate, notes = Gate(), Notes()
    doomed = await ground.process({TASK: gate})
    await doomed.accept(TASK.of("a"))
    await gate.has_entered.wait()
    doomed.kill()
    died_at = ground.clock.monotonic()
    await ground.process({TASK: notes})
    await ground.until_all("done")
    assert notes.subjects == ["a"]
    assert notes.seen[0].epoch == 2
    assert (
        ground.clock.monotonic() - died_at
        <= ground.term_s * 4 / 3 + ground.figures.longest_poll.total_seconds() + 1
    )


async def test_a_paused_process_wakes_to_find_that_it_has_lost(ground: Ground) -> None:
    gate, notes = Gate(), Notes()
    paused = await ground.process({TASK: gate})
    await paused.accept(TASK.of("a"))
    await gate.has_entered.wait()
    paused.pause()
    await ground.process({TASK: notes})
    await ground.until_all("done")
    waking = asyncio.create_task(gate.entered[0].write(lambda _: pytest.fail("a lost job has written")))
    paused.wake()
    with pytest.raises(LeaseLost):
        await waking
    await ground.until(lambda: gate.was_cancelled)
    (job,) = await ground.jobs()
    assert (job.status, job.attempts) == ("done", 1)


async def test_a_result_under_an_old_epoch_changes_nothing(ground: Ground) -> None:
    gate = Gate()
    process = await ground.process({TASK: gate})
    await process.accept(TASK.of("a"))
    await gate.has_entered.wait()
    held = gate.entered[0].lease
    old = Lease(held.job_id, held.epoch - 1)
    await process.database.write(lambda connection: finish(connection, [Finish(old, JobStatus.DONE, 1)]))
    job = await process.database.read(lambda connection: find_job(connection, held.job_id))
    assert job is not None
    assert job.status == JobStatus.RUNNING
    assert not await process.database.write(lambda connection: is_held(connection, old))
    assert await gate.entered[0].write(gate.entered[0].still_mine)
    gate.may_leave.set()


async def test_leases_are_renewed_for_as_long_as_the_body_runs(ground: Ground) -> None:
    gate, notes = Gate(), Notes()
    process = await ground.process({TASK: gate})
    await ground.process({TASK: notes})
    await process.accept(TASK.of("a"))
    await gate.has_entered.wait()
    await ground.clock.sleep(ground.term_s * 2.5)
    gate.may_leave.set()
    await ground.until_all("done")
    assert notes.seen == []
    assert len(gate.entered) == 1


async def test_a_stop_lets_bodies_finish_and_hands_the_others_back(ground: Ground) -> None:
    quick, slow = Gate(), Gate()
    later = Notes()
    short, long = Kind("short"), Kind("long")
    stopping = await ground.process({short: quick, long: slow})
    await stopping.ask(short.of("a"))
    await stopping.accept(long.of("b"))
    await asyncio.gather(quick.has_entered.wait(), slow.has_entered.wait())
    began = ground.clock.monotonic()
    stop = asyncio.create_task(stopping.engine.stop())
    await ground.clock.sleep(0.05)
    quick.may_leave.set()
    await stop
    assert ground.clock.monotonic() - began <= 10
    states = {job.kind: (job.status, job.attempts) for job in await ground.jobs()}
    assert states == {"short": ("done", 1), "long": ("waiting", 0)}
    assert slow.was_cancelled
    began = ground.clock.monotonic()
    await ground.process({long: later})
    await ground.until_all("done", count=2)
    assert ground.clock.monotonic() - began < ground.term_s
    assert later.subjects == ["b"]


async def test_a_stopping_process_accepts_no_more_but_loses_nothing(ground: Ground) -> None:
    notes = Notes()
    stopped = await ground.process({TASK: Notes()})
    await stopped.engine.stop()
    await stopped.accept(TASK.of("a"))
    await ground.process({TASK: notes})
    await ground.until_all("done")
    assert notes.subjects == ["a"]


async def test_while_the_database_is_away_work_pauses_and_then_catches_up(ground: Ground) -> None:
    gate = Gate()
    bounded = Kind("bounded", max_attempts=1)
    trouble: list[str] = []

    async def stubborn(context: JobContext) -> Outcome:
        await gate(context)
        try:
            await context.write(lambda _: None)
        except StoreUnavailable as error:
            trouble.append(error.database)
            raise
        return Done()

    process = await ground.process({bounded: stubborn})
    for number in range(5):
        await process.accept(bounded.of(str(number)))
    await process.ask(bounded.of("later", due=timedelta(seconds=0.5)))
    await gate.has_entered.wait()
    async with ground.away():
        gate.may_leave.set()
        await ground.clock.sleep(60 if ground.name == "twin" else ground.term_s * 2)
        with pytest.raises(StoreUnavailable):
            await process.ask(bounded.of("refused"))
    await ground.until_all("done", count=6)
    assert len(trouble) >= 5
    assert {job.attempts for job in await ground.jobs()} == {1}


async def test_periodic_work_runs_at_its_interval_in_one_process_at_a_time(ground: Ground) -> None:
    periodic = Kind("periodic", every=timedelta(seconds=0.6))
    one, other = Notes(), Notes()
    await ground.process({periodic: one})
    await ground.process({periodic: other})
    await ground.until(lambda: len(one.seen + other.seen) == 4)
    instants = sorted(context.claimed_at for context in one.seen + other.seen)
    gaps = [later - earlier for earlier, later in pairwise(instants)]
    assert min(gaps) >= timedelta(seconds=0.6)
    assert len(await ground.jobs()) == 1


async def test_one_process_leads_and_another_follows_when_it_is_paused(ground: Ground) -> None:
    terms: list[Term] = []

    async def lead(term: Term) -> None:
        terms.append(term)
        await asyncio.Event().wait()

    first = await ground.process({}, {"watch": lead})
    await ground.until(lambda: len(terms) == 1)
    second = await ground.process({}, {"watch": lead})
    await ground.clock.sleep(ground.figures.leader_term.total_seconds() * 1.5)
    assert len(terms) == 1
    assert terms[0].may_act
    first.pause()
    paused_at = ground.clock.monotonic()
    await ground.until(lambda: not terms[0].may_act)
    assert len(terms) == 1, "the old leader stops acting before a new one begins"
    assert ground.clock.monotonic() - paused_at <= ground.figures.leader_term.total_seconds() * 0.7
    await ground.until(lambda: len(terms) == 2)
    assert ground.clock.monotonic() - paused_at <= 15
    assert terms[1].epoch == terms[0].epoch + 1
    first.wake()
    with pytest.raises(LeadershipLost):
        await terms[0].write(lambda _: None)
    assert await terms[1].write(lambda _: 7) == 7
    await second.engine.stop()
    await ground.until(lambda: len(terms) == 3)
    assert terms[2].epoch == terms[1].epoch + 1


async def test_a_leader_whose_body_fails_leads_again(ground: Ground) -> None:
    terms: list[int] = []

    async def lead(term: Term) -> None:
        terms.append(term.epoch)
        raise ValueError(term.epoch)

    await ground.process({}, {"watch": lead})
    await ground.until(lambda: terms[:2] == [1, 2])


async def test_finished_jobs_are_removed_once_they_are_old(ground: Ground) -> None:
    notes = Notes(Done(), Wait(timedelta(hours=1)))
    figures = replace(ground.figures, kept_for=timedelta(seconds=0.2))
    process = await ground.process({TASK: notes}, figures=figures)
    await process.ask(TASK.of("old"))
    await ground.until_all("done")
    await process.ask(TASK.of("open"))
    await ground.clock.sleep(0.3)
    await process.ask(Kind("engine.clean_up").of(""))
    await ground.until(lambda: _only_is(ground, "open"))


async def _only_is(ground: Ground, subject: str) -> bool:
    return [job.subject for job in await ground.jobs()] == [subject]
