"""The part of the check-up that is about the database, the ports, and the default receiver of webhooks.

It looks from outside, whether or not a server runs: nothing is made, migrated or locked, and no webhook sent.
"""

import asyncio
import ssl
from collections.abc import Iterator
from urllib.parse import urlsplit

from ostler.assembly.core import database_url
from ostler.assembly.findings import Finding, Verdict
from ostler.assembly.server import StartError, listening
from ostler.clock import Clock
from ostler.cloud.reach import Reach
from ostler.datadir import DataDirectory
from ostler.notify.receivers import problem_with_receiver
from ostler.settings import Settings
from ostler.store.database import DatabaseConfig, StoreUnavailable
from ostler.store.installation import find_install_id
from ostler.store.peeking import peeked

_PATIENCE_S = 5.0


def database(settings: Settings, clock: Clock) -> Iterator[Finding]:
    """Tell whether the database can be had, and whose it is."""
    config = DatabaseConfig(database_url(settings, DataDirectory(settings.directory)))
    kind = "PostgreSQL" if config.parsed_url.get_backend_name() == "postgresql" else "SQLite"
    try:
        with peeked(config, clock) as connection:
            kept = None if connection is None else find_install_id(connection)
    except StoreUnavailable as error:
        hint = "check OSTLER_DATABASE_URL and OSTLER_DATA_DIR"
        yield Finding("database", Verdict.FAILED, str(error), hint)
        return
    state = "Ostler has not run on it yet" if kept is None else "answers"
    yield Finding("database", Verdict.OK, f"{kind}: {state}")
    yield _installation(kept, settings.install_id)


def _installation(kept: str | None, given: str | None) -> Finding:
    if kept is not None and given not in {None, kept}:
        hint = "take it away, or use the database that it belongs to"
        detail = f"{kept}, whatever OSTLER_INSTALL_ID={given} says: the database knows it"
        return Finding("installation", Verdict.WARNING, detail, hint)
    return Finding("installation", Verdict.OK, kept or given or "gets its id at the first start")


def ports(settings: Settings) -> Iterator[Finding]:
    """Tell whether a server could listen."""
    yield _port("port", settings.host, settings.port, "PORT")
    if settings.is_simulated:
        yield _port("simulator port", "127.0.0.1", settings.simulator_port, "OSTLER_SIMULATOR_PORT")


def _port(what: str, host: str, port: int, variable: str) -> Finding:
    try:
        listening(host, port, variable).close()
    except StartError as error:
        return Finding(what, Verdict.WARNING, str(error))
    return Finding(what, Verdict.OK, f"{host}:{port} is free" if port else "any free one")


async def receiver(settings: Settings) -> Finding:
    """Tell whether the default receiver of webhooks can be reached."""
    if settings.webhook_url is None:
        return Finding("webhooks", Verdict.OK, "no default receiver")
    url = str(settings.webhook_url)
    reach = Reach(allow_private=settings.webhook_allow_private, allow_loopback=settings.is_simulated)
    problem = problem_with_receiver(url, reach) or await _problem_reaching(url)
    host = urlsplit(url).hostname
    if problem is None:
        return Finding("webhooks", Verdict.OK, f"{host} is reached")
    return Finding("webhooks", Verdict.FAILED, f"{host}: {problem}", "check WEBHOOK_URL and the network")


async def _problem_reaching(url: str) -> str | None:
    parts = urlsplit(url)
    is_tls = parts.scheme == "https"
    try:
        async with asyncio.timeout(_PATIENCE_S):
            _, writer = await asyncio.open_connection(
                parts.hostname,
                parts.port or (443 if is_tls else 80),
                ssl=ssl.create_default_context() if is_tls else None,
            )
    except TimeoutError:
        return f"no connection within {_PATIENCE_S:g} s"
    except OSError as error:
        return error.strerror or str(error)
    writer.close()
    return None
