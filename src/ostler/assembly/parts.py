"""The parts of one process, joined: the way to the cloud, the durable core, the watcher, the web.

Made in the order in which they need one another, closed in the reverse. Nothing else joins them.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from ostler import __version__
from ostler.api.audited import Journal, Manner
from ostler.api.backing import Backing
from ostler.api.instance_backing import InstanceBacking
from ostler.api.patience import Patience
from ostler.api.routes.drawn_instances import DrawnList
from ostler.api.sessions import LoginLinks
from ostler.assembly.core import (
    Core,
    Hands,
    Surroundings,
    default_health,
    opened_core,
    working,
)
from ostler.assembly.entering import AdminKey, admin_key, entering
from ostler.assembly.gauges import watch_audience
from ostler.assembly.outward import cloud_key, reaching, secrets_given, warming
from ostler.assembly.seals import former_keys, secret_key
from ostler.assembly.seeing import seeing, tracing
from ostler.assembly.telling import News, telling
from ostler.assembly.watching import Watch, watching
from ostler.assembly.web import Entry, web
from ostler.clock import Clock, SteadyClock, SystemClock
from ostler.cloud.caches import NamedCache
from ostler.datadir import DataDirectory
from ostler.domain.requests import Defaults
from ostler.jobs.witness import Witness
from ostler.notify.receivers import problem_with_receiver
from ostler.settings import Settings
from ostler.settings_kinds import networks
from ostler.telemetry.logs import configure_logging
from ostler.telemetry.metrics import Metrics
from ostler.telemetry.redaction import Redactor
from ostler.telemetry.trail import Trail
from ostler.usecases.audit import AuditLog
from ostler.usecases.catalogue_memory import CatalogueMemory, remembering
from ostler.usecases.change import ChangeInstance
from ostler.usecases.comprehensive import MOST_LISTS, Comprehensive, Fleet
from ostler.usecases.costs import Costs
from ostler.usecases.create import Create
from ostler.usecases.gpu_use import WatchGpus
from ostler.usecases.health import Health
from ostler.usecases.instance_logs import ReadLogs
from ostler.usecases.job_desk import Jobs
from ostler.usecases.orphans import Orphans
from ostler.usecases.reading import Reading
from ostler.usecases.row_views import RowViews
from ostler.usecases.stop_all import StopAll
from ostler.usecases.waiting import Waiting
from ostler.watch.watcher import NAME as WATCHER

_NEWS_LIFE_S, _MOST_NEWS = 1, 256
_LISTS_LIFE_S, _MOST_LISTS = 300, 64


@dataclass(frozen=True, slots=True)
class Parts:
    """What the server needs of the whole."""

    app: FastAPI
    links: LoginLinks
    health: Health
    let_go: Callable[[], None]  # of all who wait or follow
    key_file: Path | None  # None: the key was given, not made


Face = Callable[[Settings, Entry, Backing, TracerProvider | None], tuple[FastAPI, LoginLinks]]


@asynccontextmanager
async def assembled(
    settings: Settings, directory: DataDirectory, cloud_url: str, face: Face = web
) -> AsyncIterator[Parts]:
    """Make everything, and close it in the reverse order."""
    admin = admin_key(settings, directory)
    redactor = Redactor(_secrets(settings, directory, admin))
    configure_logging(settings.log_level, settings.log_format, redactor)
    clock, metrics = SteadyClock(SystemClock()), Metrics(__version__)
    async with AsyncExitStack() as stack:
        tracer_provider = await stack.enter_async_context(tracing(settings, redactor))
        trail = Trail(tracer_provider)
        around = Surroundings(clock, metrics, trail)
        outward = await stack.enter_async_context(reaching(settings, cloud_url, clock, metrics, trail))
        core = await stack.enter_async_context(opened_core(settings, directory, around, outward.catalogue))
        memory = CatalogueMemory(outward.catalogue, core.database, core.sealer)
        await stack.enter_async_context(remembering(memory, clock))
        await stack.enter_async_context(warming(outward.catalogue))
        merged = NamedCache[Fleet]("mergedInstances", settings.comprehensive_cache_s, MOST_LISTS, clock)
        outward.caches.register(merged)
        news = await stack.enter_async_context(telling(core, settings, around, outward.trust))
        watch = await stack.enter_async_context(watching(settings, core, outward, clock, trail))
        entered = await stack.enter_async_context(entering(core, admin, clock))
        sight = await stack.enter_async_context(seeing(core, outward, watch.standing, around))
        backing = Backing(
            catalogue=outward.catalogue.at_once(),
            patience=Patience(outward.transport.lanes, clock),
            caches=outward.caches,
            comprehensive=Comprehensive(core.database, watch.standing, merged, clock),
            logs=ReadLogs(core.database, outward.log_reader),
            health=sight.health,
            metrics=metrics,
            clock=clock,
            is_simulated=settings.is_simulated,
            keys=entered.keys,
            journal=_journal(settings, core, around, redactor),
        )
        entry = Entry(entered.book, entered.sessions, admin.file)
        app, links = face(settings, entry, backing, tracer_provider)
        app.state.instances = instances = _instances(settings, core, news, watch, clock)
        app.state.figures = sight.figures
        watch_audience(metrics, news.feed, instances.waiting)
        witness = Witness(trail, clock, metrics)
        hands = Hands(watch.cloud, outward.catalogue, watch.prober, clock, witness)
        await stack.enter_async_context(working(core, settings, hands, {WATCHER: watch.lead}))
        yield Parts(app, links, sight.health, partial(_let_go, news, instances), admin.file)


def _journal(settings: Settings, core: Core, around: Surroundings, redactor: Redactor) -> Journal:
    trusted = networks(settings.trusted_proxies)
    return Journal(AuditLog(core.database), Manner(around.clock, around.metrics, redactor.text, trusted))


def _let_go(news: News, instances: InstanceBacking) -> None:
    news.feed.close()
    instances.waiting.close()


def _secrets(settings: Settings, directory: DataDirectory, admin: AdminKey) -> Iterable[str]:
    yield admin.key
    yield cloud_key(settings).get_secret_value()
    for key in (secret_key(settings, directory), *former_keys(settings, directory)):
        yield key.get_secret_value()
    yield from secrets_given(settings)


def _instances(settings: Settings, core: Core, news: News, watch: Watch, clock: Clock) -> InstanceBacking:
    health = default_health(settings)
    startup_timeout = timedelta(milliseconds=settings.startup_max_wait_ms)
    standing = watch.standing
    reading = Reading(core.database, core.recorder, clock, standing.picture, standing.renew)
    return InstanceBacking(
        create=Create(core.database, core.recorder, core.planner, clock, core.minting),
        verbs=core.verbs,
        change=ChangeInstance(core.database, core.recorder, clock),
        reading=reading,
        row_views=RowViews(core.database, reading, watch.standing.picture, clock),
        waiting=Waiting(core.database, clock),
        news=NamedCache[bytes]("news", _NEWS_LIFE_S, _MOST_NEWS, clock),
        lists=NamedCache[DrawnList]("lists", _LISTS_LIFE_S, _MOST_LISTS, clock),
        sealer=core.sealer,
        defaults=Defaults(health, startup_timeout, partial(problem_with_receiver, reach=news.reach)),
        reach=news.reach,
        webhooks=news.webhooks,
        feed=news.feed,
        jobs=Jobs(core.database, core.engine, core.recorder, core.verbs, health),
        costs=Costs(core.database, clock),
        gpus=WatchGpus(core.database, watch.cloud, clock),
        orphans=Orphans(core.database, watch.cloud, watch.adoption, core.verbs, watch.removal),
        stop_all=StopAll(core.database, core.verbs, clock),
        auto_stop=watch.auto_stop,
        watcher=watch.standing,
        account=watch.account,
    )
