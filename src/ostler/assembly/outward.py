"""The way to the cloud: its transport, the client on it, the catalogue, and what is told of each call.

The simulated cloud is reached over HTTP like the real one; only its address and key differ.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import httpx2
import stamina
import structlog
from pydantic import SecretStr

from ostler.clock import Clock
from ostler.cloud.caches import Caches
from ostler.cloud.catalogue import Catalogue, Lives, Reader
from ostler.cloud.lane import Lane
from ostler.cloud.log_reader import LogReader
from ostler.cloud.lookups import Lookups
from ostler.cloud.novita.client import NovitaCloud
from ostler.cloud.observer import Outcome
from ostler.cloud.reach import reach_of_cloud
from ostler.cloud.refusals import CloudRefusal
from ostler.cloud.transport import Transport, TransportConfig
from ostler.domain.catalogue import BillingMode, Channel
from ostler.settings import Settings
from ostler.telemetry.metrics import Metrics
from ostler.telemetry.trail import Trail
from ostler.usecases.health import CloudPulse

SIMULATED_KEY = "sk_simulated"
_MS = 1000
_LOOKUPS_AT_ONCE = 32  # as many probes as there are at once
_log: structlog.stdlib.BoundLogger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Outward:
    """What the rest of the process knows of the cloud."""

    transport: Transport
    cloud: NovitaCloud
    caches: Caches
    catalogue: Catalogue
    pulse: CloudPulse
    log_reader: LogReader
    lookups: Lookups  # of the addresses that the cloud tells
    trust: ssl.SSLContext  # one for all who call out: each would be another 2 MB of certificates


@asynccontextmanager
async def reaching(
    settings: Settings, cloud_url: str, clock: Clock, metrics: Metrics, trail: Trail | None = None
) -> AsyncIterator[Outward]:
    """Make the way to the cloud."""
    stamina.instrumentation.set_on_retry_hooks([])  # the observer below tells of retries
    pulse = CloudPulse(clock)
    trust = httpx2.create_ssl_context(trust_env=False)
    config = replace(transport_config(settings, cloud_url), trust=trust)
    transport = Transport(config, clock, _Told(metrics, pulse), trail)
    lookups = Lookups(reach_of_cloud(cloud_url).policy, at_once=_LOOKUPS_AT_ONCE)
    log_reader = LogReader(clock, lookups, trust)
    caches = Caches()
    cloud = NovitaCloud(transport)
    catalogue = Catalogue(cloud, caches, clock, Lives(products_s=settings.products_cache_s))
    try:
        yield Outward(transport, cloud, caches, catalogue, pulse, log_reader, lookups, trust)
    finally:
        await log_reader.aclose()
        await transport.aclose()


@asynccontextmanager
async def warming(catalogue: Catalogue) -> AsyncIterator[None]:
    """Read the market before anybody asks: the first answers are quick then, and the cloud's pulse known."""
    reading = asyncio.create_task(_read_market(catalogue), name="read the market")
    try:
        yield
    finally:
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)


def transport_config(settings: Settings, cloud_url: str) -> TransportConfig:
    """Return how the settings want the cloud to be called."""
    return TransportConfig(
        base_url=cloud_url,
        api_key=cloud_key(settings),
        timeout_s=settings.request_timeout_ms / _MS,
        max_attempts=settings.max_retry_attempts,
        per_minute=settings.cloud_calls_per_minute,
        recovery_s=settings.breaker_recovery_s,
        max_calls=settings.max_cloud_calls,
    )


def cloud_key(settings: Settings) -> SecretStr:
    """Return the key for the cloud; the simulated one accepts any."""
    if settings.novita_api_key is None or settings.simulate:
        return SecretStr(SIMULATED_KEY)
    return settings.novita_api_key


def secrets_given(settings: Settings) -> Iterable[str]:
    """Return the secrets that were set from outside: none of them may be told."""
    given = (
        settings.novita_api_key,
        settings.admin_key,
        settings.secret_key,
        settings.former_secret_keys,
        settings.webhook_secret,
        settings.database_url,
    )
    return (each.get_secret_value() for each in given if each is not None)


class _Told:
    """Tells everybody who wants to know of calls to the cloud."""

    def __init__(self, metrics: Metrics, pulse: CloudPulse) -> None:
        self._metrics = metrics
        self._pulse = pulse

    def record_call(
        self, operation: str, lane: Lane, outcome: Outcome, seconds: float, waited: float
    ) -> None:
        """Pass on one call."""
        self._metrics.record_call(operation, lane, outcome, seconds, waited)
        self._pulse.hear(outcome)
        is_routine = outcome is Outcome.ANSWERED and lane is not Lane.USER
        level = _log.debug if is_routine else _log.info
        level(
            "cloud call",
            operation=operation,
            lane=lane,
            outcome=outcome,
            ms=round(seconds * 1000, 2),
            waited_ms=round(waited * 1000, 2),
        )

    def record_retry(self, operation: str) -> None:
        """Pass on that one is tried again."""
        self._metrics.record_retry(operation)


async def _read_market(catalogue: Catalogue) -> None:
    try:
        await catalogue.products(BillingMode.SPOT, reader=Reader(Lane.BACKGROUND))
        for channel in (Channel.PRIVATE, Channel.OFFICIAL):
            await catalogue.templates(channel, lane=Lane.BACKGROUND)
    except CloudRefusal as refusal:
        _log.warning("the catalogue could not be read yet", reason=str(refusal))
