"""The web application of one process: routes, pages, doors, on what assembly has made.

Everything that listens for people and programs is put together here.
"""

from dataclasses import dataclass
from pathlib import Path

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from ostler.api.app import Layers, application
from ostler.api.backing import Backing
from ostler.api.doors import Gate
from ostler.api.limits import Limits, Quota
from ostler.api.routes import (
    audit,
    auto_stop,
    caches,
    comprehensive,
    events,
    figures,
    fleet,
    health,
    instance_changes,
    instance_figures,
    instance_logs,
    instances,
    jobs,
    keys,
    metrics,
    offers,
    operations,
    regions,
    templates,
    webhooks,
)
from ostler.api.sessions import LoginLinks
from ostler.dashboard.pages import Entrance, PageFacts, Pages, static_files
from ostler.settings import Settings
from ostler.settings_kinds import networks
from ostler.usecases.key_book import KeyBook
from ostler.usecases.signing_in import Sessions

_ROUTES = (
    *(health, metrics, figures, fleet, auto_stop, instance_changes, comprehensive),
    *(instances, instance_figures, instance_logs),
    *(operations, events, jobs, webhooks, keys, audit),
    *(offers, regions, templates, caches),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """How people get in. `key_file` None: the administrator's key was given, not made."""

    book: KeyBook
    sessions: Sessions
    key_file: Path | None


def web(
    settings: Settings, entry: Entry, backing: Backing, tracer_provider: TracerProvider | None
) -> tuple[FastAPI, LoginLinks]:
    """Return the application, and what makes links that sign browsers in."""
    links = LoginLinks(backing.clock)
    gate = _gate(settings, entry)
    public = settings.public_url
    is_behind_tls = public is not None and public.scheme == "https"
    facts = PageFacts(
        settings.is_simulated,
        entry.key_file,
        is_behind_tls=is_behind_tls,
        asks_for_key=settings.auth == "on",
    )
    limits = _limits(settings, backing)
    pages = Pages(facts, Entrance(gate, entry.sessions, links, limits))
    app = application(
        [*(module.router for module in _ROUTES), pages.router()],
        Layers(gate, backing.journal, backing.clock, backing.metrics, tracer_provider, limits),
    )
    app.state.backing = backing
    app.mount("/static", static_files(), name="static")
    return app, links


def vital_signs(
    settings: Settings, entry: Entry, backing: Backing, tracer_provider: TracerProvider | None
) -> tuple[FastAPI, LoginLinks]:
    """Return the application of a process that only works: what supervisors and Prometheus ask."""
    gate = _gate(settings, entry)
    app = application(
        [health.router, metrics.router],
        Layers(
            gate, backing.journal, backing.clock, backing.metrics, tracer_provider, _limits(settings, backing)
        ),
    )
    app.state.backing = backing
    return app, LoginLinks(backing.clock)


def _limits(settings: Settings, backing: Backing) -> Limits | None:
    if settings.api_rate_limit == "off":
        return None
    quota = Quota(settings.rate_limit_max_requests, settings.rate_limit_window_ms)
    trusted = networks(settings.trusted_proxies)
    return Limits(quota, backing.clock, backing.metrics.record_rate_limited, trusted)


def _gate(settings: Settings, entry: Entry) -> Gate:
    public_url = str(settings.public_url) if settings.public_url else None
    return Gate(entry.book, entry.sessions, asks_for_key=settings.auth == "on", public_url=public_url)
