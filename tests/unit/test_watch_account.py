"""Another account's key: nothing is concluded, nothing is sent, until it is known to be ours."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from pydantic import SecretStr

from ostler.cloud.lane import Lane
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.provider import Cloud
from ostler.cloud.refusals import Unavailable
from ostler.cloud.transport import Transport, TransportConfig
from ostler.domain.catalogue import Channel
from ostler.domain.events import PublicEvent
from ostler.domain.instance import Instance
from ostler.domain.lifecycle import State
from ostler.domain.marks import new_instance_id
from ostler.simulator.keys import KEYS, Key
from ostler.store.watch_state import Suspicion
from ostler.watch.account import Account, AccountDesk
from ostler.watch.guarded import AccountSuspect, GuardedCloud
from ostler.watch.tower import key_digest
from tests.support.simulator import BASE_URL
from tests.support.watching import CONFIG, Watch, a_watch, an_order, watch_by

pytestmark = pytest.mark.looptime

OTHER_KEY = SecretStr("sk_another")
OTHER = replace(CONFIG, key_digest=key_digest(OTHER_KEY))


@asynccontextmanager
async def watched_with_another_key(watch: Watch, account: str) -> AsyncIterator[Watch]:
    """Go on watching with another key, which opens an account."""
    world = watch.home.simulated.world
    world.put(KEYS, OTHER_KEY.get_secret_value(), Key(OTHER_KEY.get_secret_value(), account=account))
    config = TransportConfig(BASE_URL, OTHER_KEY, timeout_s=10, max_attempts=1, per_minute=0)
    transport = Transport(config, watch.process.clock, network=watch.home.simulated.transport())
    yield await watch_by(watch.home, watch.process, OTHER, NovitaCloud(transport))
    await transport.aclose()


async def test_another_accounts_key_concludes_nothing_and_is_an_alarm_once() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(2)
        await watch.tower.clock.sleep(60)
        async with watched_with_another_key(watch, "another") as other:
            stranger = new_instance_id(other.tower.clock.now(), b"0123456789")
            await other.make_upstream(stranger, 1)
            await other.looks(120, every=12)
            assert await watch.states(fleet) == [State.RUNNING] * 2
            (alarm,) = await other.told(PublicEvent.ACCOUNT_SUSPECT)
            assert alarm.details["suspicion"] == "other account"
            assert await other.sightings() == []
            assert (await other.state()).suspicion is Suspicion.OTHER_ACCOUNT
            assert (await other.state()).key_digest == CONFIG.key_digest


async def test_another_key_of_the_same_account_is_trusted_by_its_first_pass() -> None:
    async with a_watch() as watch:
        (lost, *_) = await watch.running(2)
        await watch.tower.clock.sleep(60)
        watch.lose(lost)
        async with watched_with_another_key(watch, "default") as other:
            await other.looks(36, every=12)
            state = await other.state()
            assert state.key_digest == OTHER.key_digest
            assert state.suspicion is None
            assert (await watch.process.instance(lost.id)).state is State.TERMINATED


async def test_another_key_is_trusted_where_there_is_nothing_to_lose() -> None:
    async with a_watch() as watch:
        await watch.look()
        async with watched_with_another_key(watch, "another") as other:
            await other.look()
            assert (await other.state()).key_digest == OTHER.key_digest
            assert await other.told(PublicEvent.ACCOUNT_SUSPECT) == []


async def test_an_account_that_somebody_confirmed_is_ours_but_its_losses_are_not_believed_at_once() -> None:
    async with a_watch() as watch:
        fleet = await watch.running(5)
        await watch.tower.clock.sleep(60)
        async with watched_with_another_key(watch, "another") as other:
            await other.look()
            desk = AccountDesk(watch.process.database, other.account)
            assert (await desk.state()).suspicion is Suspicion.OTHER_ACCOUNT
            confirmed = await desk.confirm()
            assert confirmed.key_digest == OTHER.key_digest
            await other.looks(60, every=12)
            assert (await other.state()).suspicion is Suspicion.LOSS
            assert await watch.states(fleet) == [State.RUNNING] * 5


async def test_confirming_where_all_is_calm_changes_nothing() -> None:
    async with a_watch() as watch:
        await watch.look()
        before = await watch.state()
        assert await AccountDesk(watch.process.database, watch.account).confirm() == before


Order = Callable[[Cloud, str], Awaitable[object]]
REFUSED: dict[str, Order] = {
    "create": lambda cloud, _: cloud.create(an_order("demo")),
    "start": lambda cloud, upstream_id: cloud.start(upstream_id),
    "stop": lambda cloud, upstream_id: cloud.stop(upstream_id),
    "restart": lambda cloud, upstream_id: cloud.restart(upstream_id),
    "delete": lambda cloud, upstream_id: cloud.delete(upstream_id),
    "migrate": lambda cloud, upstream_id: cloud.migrate(upstream_id),
    "set_auto_renew": lambda cloud, upstream_id: cloud.set_auto_renew(upstream_id, months=0),
    "get": lambda cloud, upstream_id: cloud.get(upstream_id, lane=Lane.USER),
    "list_page": lambda cloud, _: cloud.list_page(1),
    "list_all": lambda cloud, _: cloud.list_all(),
    "find_by_name": lambda cloud, _: cloud.find_by_name("demo"),
    "jobs": lambda cloud, upstream_id: cloud.jobs(upstream_id, lane=Lane.USER),
}
ALLOWED: dict[str, Order] = {
    "regions": lambda cloud, _: cloud.regions(lane=Lane.USER),
    "templates": lambda cloud, _: cloud.templates(Channel.OFFICIAL, lane=Lane.USER),
    "registry_auths": lambda cloud, _: cloud.registry_auths(lane=Lane.USER),
    "balance": lambda cloud, _: cloud.balance(lane=Lane.USER),
}


def guarded(watch: Watch, digest: str) -> GuardedCloud:
    return GuardedCloud(watch.process.cloud, watch.process.database, Account(watch.process.recorder, digest))


async def watched_instance(watch: Watch) -> Instance:
    (instance,) = await watch.running()
    return instance


@pytest.mark.parametrize("verb", REFUSED)
async def test_nothing_about_instances_reaches_an_account_that_may_not_be_ours(verb: str) -> None:
    async with a_watch() as watch:
        await watch.look()
        before = watch.home.simulated.cloud.calls.by_route.copy()
        with pytest.raises(AccountSuspect) as caught:
            await REFUSED[verb](guarded(watch, OTHER.key_digest), "any")
        assert isinstance(caught.value, Unavailable)
        assert watch.home.simulated.cloud.calls.by_route == before


@pytest.mark.parametrize("verb", ALLOWED)
async def test_what_is_for_sale_may_be_read_with_any_key(verb: str) -> None:
    async with a_watch() as watch:
        await watch.look()
        assert await ALLOWED[verb](guarded(watch, OTHER.key_digest), "any") is not None


async def test_orders_of_a_trusted_key_are_passed_on() -> None:
    async with a_watch() as watch:
        instance = await watched_instance(watch)
        cloud: Cloud = guarded(watch, CONFIG.key_digest)
        upstream_id = instance.upstream_id or ""
        await cloud.stop(upstream_id)
        await watch.looks(40, every=10)
        assert (await cloud.get(upstream_id, lane=Lane.USER)).status == "exited"
        await cloud.delete(await cloud.create(an_order("demo")))


async def test_the_first_key_ever_is_trusted() -> None:
    async with a_watch() as watch:
        assert await guarded(watch, OTHER.key_digest).create(an_order("demo"))
