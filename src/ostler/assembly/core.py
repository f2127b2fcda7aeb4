"""The durable core of one process: the database, what changes instances, and the work that carries it out.

Made in the order in which the parts need one another; `working` starts the work and stops it gracefully.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from ostler.assembly.database_pulse import DatabasePulse
from ostler.assembly.seals import former_keys, require_fitting_keys, sealer_of
from ostler.clock import Clock
from ostler.cloud.catalogue import Catalogue
from ostler.cloud.provider import Cloud
from ostler.datadir import DataDirectory
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.marks import INSTALL_ID_BYTES, new_install_id
from ostler.engine.config import EngineConfig
from ostler.engine.engine import Engine
from ostler.engine.leader import LeaderBody
from ostler.jobs.bodies import Crew, bodies
from ostler.jobs.check_health import Prober
from ostler.jobs.reseal import RESEAL, Reseal
from ostler.jobs.thin_audit import THIN_AUDIT, ThinAudit
from ostler.jobs.witness import Witness
from ostler.jobs.workshop import Workshop
from ostler.notify.clean_up import CLEAN_UP, CleanUp
from ostler.notify.fanout import fan_out
from ostler.settings import Settings
from ostler.store.database import Database, DatabaseConfig
from ostler.store.installation import claim_install_id
from ostler.store.observed import ObservedDatabase
from ostler.store.opening import open_database
from ostler.store.sealing import Sealer
from ostler.telemetry.metrics import Metrics
from ostler.telemetry.trail import Trail
from ostler.usecases.create import Minting
from ostler.usecases.desk import EngineDesk
from ostler.usecases.ids import Ids
from ostler.usecases.market import Market
from ostler.usecases.observe import Observation
from ostler.usecases.planning import Planner, Preferences
from ostler.usecases.record import Recorder
from ostler.usecases.verbs import Verbs


@dataclass(frozen=True, slots=True)
class Core:
    """What the rest of the process works with."""

    database: Database
    pulse: DatabasePulse
    engine: Engine
    recorder: Recorder
    observation: Observation
    planner: Planner
    verbs: Verbs
    minting: Minting
    install_id: str
    owner: str

    @property
    def sealer(self) -> Sealer:
        """What keeps secrets unreadable in rows."""
        return self.minting.sealer


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every part of a process may use."""

    clock: Clock
    metrics: Metrics
    trail: Trail


@asynccontextmanager
async def opened_core(
    settings: Settings, directory: DataDirectory, around: Surroundings, catalogue: Catalogue
) -> AsyncIterator[Core]:
    """Open the database and make what stands on it."""
    clock = around.clock
    opened = await open_database(DatabaseConfig(database_url(settings, directory)), clock)
    pulse = DatabasePulse(clock)
    database = ObservedDatabase(opened, clock, around.metrics.record_transaction, pulse.hear)
    try:
        now = clock.now()
        proposed = settings.install_id or new_install_id(secrets.token_bytes(INSTALL_ID_BYTES))
        install_id = await database.write(partial(claim_install_id, proposed=proposed, at=now))
        sealer = sealer_of(settings, directory)
        await require_fitting_keys(sealer, database)
        owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
        engine = Engine(database, clock, EngineConfig(owner, slots=settings.max_concurrent_jobs))
        if former_keys(settings, directory):
            await database.write(partial(engine.ask, job=RESEAL.of("all")))
        recorder = Recorder(EngineDesk(engine, around.trail), [fan_out])
        ids = Ids(secrets.token_bytes)
        market = Market(catalogue, database, sealer, clock)
        yield Core(
            database=database,
            pulse=pulse,
            engine=engine,
            recorder=recorder,
            observation=Observation(recorder, sealer),
            planner=Planner(market, database, clock, Preferences(settings.default_region)),
            verbs=Verbs(database, recorder, clock, ids),
            minting=Minting(ids, sealer),
            install_id=install_id,
            owner=owner,
        )
    finally:
        await database.close()


@dataclass(frozen=True, slots=True)
class Hands:
    """Whom the work needs outside the core."""

    cloud: Cloud
    catalogue: Catalogue
    prober: Prober
    clock: Clock
    witness: Witness


@asynccontextmanager
async def working(
    core: Core, settings: Settings, hands: Hands, leading: Mapping[str, LeaderBody]
) -> AsyncIterator[None]:
    """Carry out work while the block lasts; then let it finish or hand it back."""
    shop = Workshop(
        cloud=hands.cloud,
        recorder=core.recorder,
        observation=core.observation,
        clock=hands.clock,
        ids=core.minting.ids,
        install_id=core.install_id,
        settle=timedelta(seconds=settings.create_settle_s),
    )
    does_recover = settings.migration_enabled and not settings.migration_dry_run
    crew = Crew(shop, core.planner, hands.catalogue, core.verbs, hands.prober, does_recover)
    witnessed = {kind: hands.witness.of(kind, body) for kind, body in bodies(crew).items()}
    thinning = ThinAudit(timedelta(days=settings.audit_days))
    for kind, body in ((CLEAN_UP, CleanUp()), (RESEAL, Reseal(core.sealer)), (THIN_AUDIT, thinning)):
        witnessed[kind] = hands.witness.of(kind, body)
    starting = asyncio.create_task(core.engine.start(witnessed, leading), name="start the engine")
    try:
        yield
    finally:
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        await core.engine.stop()


def database_url(settings: Settings, directory: DataDirectory) -> str:
    """Return where the rows are; the simulated cloud has a file of its own, so that worlds never mix."""
    if settings.database_url is not None:
        return settings.database_url.get_secret_value()
    name = "simulated.db" if settings.is_simulated else "ostler.db"
    return f"sqlite:///{directory.path.absolute() / name}"


def default_health(settings: Settings) -> HealthPolicy:
    """Return how readiness is judged where a request says nothing."""
    ms = timedelta(milliseconds=1)
    return HealthPolicy(
        timeout=settings.health_check_timeout_ms * ms,
        retry_attempts=settings.health_check_retry_attempts,
        retry_delay=settings.health_check_retry_delay_ms * ms,
        max_wait=settings.health_check_max_wait_ms * ms,
    )
