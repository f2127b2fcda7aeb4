"""The life of an instance on real databases and over real sockets, through a restart."""

from dataclasses import replace

from ostler.domain.health_policy import HealthPolicy
from ostler.domain.lifecycle import State
from ostler.domain.start_requests import StartRequest
from ostler.usecases.asking import ById
from tests.support.grounded import a_real_installation
from tests.support.process import SOMEBODY, a_wish
from tests.support.simulator import reset_after_effect


async def test_an_instance_lives_from_create_to_delete_on_each_database(database_url: str) -> None:
    async with a_real_installation(database_url) as home:
        ostler = await home.process()
        accepted = await ostler.accept(replace(a_wish(), health=HealthPolicy()))
        target = ById(accepted.instance_id)
        await ostler.until(accepted.instance_id, State.READY, within_s=30)
        await ostler.verbs.stop(target, SOMEBODY)
        await ostler.until(accepted.instance_id, State.EXITED, within_s=30)
        await ostler.verbs.start(target, SOMEBODY, StartRequest(), HealthPolicy())
        await ostler.until(accepted.instance_id, State.READY, within_s=30)
        await ostler.verbs.restart(target, SOMEBODY)
        await ostler.until(accepted.instance_id, State.READY, within_s=30)
        await ostler.verbs.delete(target, SOMEBODY)
        await ostler.until(accepted.instance_id, State.TERMINATED, within_s=30)
        events = await ostler.events(accepted.instance_id)
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert home.alive() == []


async def test_a_create_whose_answer_was_lost_is_adopted_on_each_database(database_url: str) -> None:
    async with a_real_installation(database_url) as home:
        ostler = await home.process()
        home.simulated.next_create(reset_after_effect())
        accepted = await ostler.accept(a_wish(), "a key")
        running = await ostler.until(accepted.instance_id, State.RUNNING, within_s=30)
        assert home.alive() == [running.upstream_id]
        assert await ostler.accept(a_wish(), "a key") == accepted
