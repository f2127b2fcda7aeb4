"""The watcher of one process: what leads it, what is known of it, and the cloud that it guards.

Every process knows of the watcher; one in a cluster leads it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from ostler.assembly.core import Core
from ostler.assembly.outward import Outward, cloud_key
from ostler.clock import Clock
from ostler.engine.leader import LeaderBody
from ostler.settings import Settings
from ostler.telemetry.trail import Trail
from ostler.usecases.auto_stop import AutoStop
from ostler.usecases.braking import Braking
from ostler.usecases.idle_stop import IdleStop
from ostler.usecases.orphans import Adoption
from ostler.usecases.removal import Removal
from ostler.watch.account import Account, AccountDesk
from ostler.watch.guarded import GuardedCloud
from ostler.watch.lookout import Lookout
from ostler.watch.prober import HttpProber
from ostler.watch.probes import Probes
from ostler.watch.standing import WatchStanding
from ostler.watch.tower import Tower, WatchConfig, key_digest
from ostler.watch.watcher import Watcher


@dataclass(frozen=True, slots=True)
class Watch:
    """What the rest of the process has of the watcher."""

    lead: LeaderBody
    standing: WatchStanding
    account: AccountDesk
    cloud: GuardedCloud  # for whoever writes
    prober: HttpProber
    adoption: Adoption
    removal: Removal
    auto_stop: AutoStop


@asynccontextmanager
async def watching(
    settings: Settings, core: Core, outward: Outward, clock: Clock, trail: Trail
) -> AsyncIterator[Watch]:
    """Make the watcher, and follow what it sees wherever it is led."""
    config = WatchConfig(
        install_id=core.install_id,
        key_digest=key_digest(cloud_key(settings)),
        slow=timedelta(seconds=settings.poll_interval_s),
        fast=timedelta(seconds=settings.fast_poll_s),
        settle=timedelta(seconds=settings.create_settle_s),
    )
    adoption = Adoption(core.recorder, core.sealer, core.minting.ids)
    removal = Removal(core.engine, trail)
    tower = Tower(
        database=core.database,
        cloud=outward.cloud,
        recorder=core.recorder,
        observation=core.observation,
        adoption=adoption,
        removal=removal,
        verbs=core.verbs,
        clock=clock,
        config=config,
    )
    account = Account(core.recorder, config.key_digest)
    standing = WatchStanding(core.database, clock, config)
    guarded = GuardedCloud(outward.cloud, core.database, account)
    idle_stop = IdleStop(core.database, guarded, Braking(core.recorder, core.verbs), clock)
    prober = HttpProber(clock, outward.lookups, outward.trust)
    following = asyncio.create_task(standing.run(), name="follow the watcher")
    try:
        yield Watch(
            lead=Lookout(Watcher(tower, account), Probes(tower, prober)),
            standing=standing,
            account=AccountDesk(core.database, account),
            cloud=guarded,
            prober=prober,
            adoption=adoption,
            removal=removal,
            auto_stop=AutoStop(idle_stop, core.database, core.engine, trail),
        )
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await prober.aclose()
