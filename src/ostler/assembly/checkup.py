"""The check-up behind `ostler doctor`: what Ostler depends on, looked at without a running server.

Each *finding* says what was looked at, how it is and what to do about it. Nothing is changed; the
database of a running server is only read.
"""

import shutil
from collections.abc import AsyncIterator

from ostler.assembly.dependency_checkup import database, ports, receiver
from ostler.assembly.findings import Finding, Verdict
from ostler.assembly.outward import reaching
from ostler.assembly.seal_checkup import seals
from ostler.clock import Clock, SystemClock
from ostler.cloud.lane import Lane
from ostler.cloud.refusals import CloudRefusal, Unauthorized
from ostler.datadir import DataDirectory, DataDirectoryError
from ostler.settings import Settings
from ostler.settings_kinds import is_short
from ostler.telemetry.metrics import Metrics

_GOOD_KEY = 16
_LEAST_FREE_BYTES = 512 * 1024 * 1024
_MOST_SKEW_S = 5.0


async def check_up(settings: Settings) -> AsyncIterator[Finding]:
    """Look at everything, one after the other."""
    clock = SystemClock()
    for finding in (*_directory(settings), *database(settings, clock), _keys(settings)):
        yield finding
    for finding in (seals(settings, clock), *ports(settings), _rate(settings), await receiver(settings)):
        yield finding
    if settings.is_simulated:
        yield Finding("cloud", Verdict.OK, "simulated; set NOVITA_API_KEY for the real one")
        return
    async for finding in _cloud(settings, clock):
        yield finding


def _directory(settings: Settings) -> tuple[Finding, ...]:
    directory = DataDirectory(settings.directory)
    try:
        path = directory.foreseen()
    except DataDirectoryError as error:
        return (Finding("data directory", Verdict.FAILED, str(error)),)
    free = shutil.disk_usage(path).free
    verdict = Verdict.OK if free >= _LEAST_FREE_BYTES else Verdict.WARNING
    hint = "" if verdict is Verdict.OK else "free some space: with a full disk nothing is accepted"
    will_be = "" if path == directory.path else ", which will be made at the first start"
    return (
        Finding("data directory", Verdict.OK, f"{directory.path}{will_be}"),
        Finding("disk", verdict, f"{free // 1_000_000_000} GB free", hint),
    )


def _keys(settings: Settings) -> Finding:
    if settings.auth == "off":
        detail = "no key is asked for; only this machine is answered"
        return Finding("keys", Verdict.WARNING, detail, "OSTLER_AUTH=on asks for one")
    if is_short(settings.admin_key, _GOOD_KEY) or is_short(settings.secret_key, _GOOD_KEY):
        detail = f"one of them has fewer than {_GOOD_KEY} characters"
        return Finding("keys", Verdict.WARNING, detail, "make them by `openssl rand -hex 32`")
    made = settings.admin_key is None or settings.secret_key is None
    return Finding("keys", Verdict.OK, "kept in the data directory" if made else "given by the settings")


def _rate(settings: Settings) -> Finding:
    if settings.cloud_calls_per_minute:
        return Finding("rate limit", Verdict.OK, f"{settings.cloud_calls_per_minute} cloud calls a minute")
    hint = "set OSTLER_RATE_LIMIT_PER_MINUTE unless the cloud has agreed to more"
    return Finding("rate limit", Verdict.WARNING, "calls to the cloud are not limited", hint)


async def _cloud(settings: Settings, clock: Clock) -> AsyncIterator[Finding]:
    url = str(settings.novita_api_base_url).rstrip("/")
    async with reaching(settings, url, clock, Metrics("doctor")) as outward:
        try:
            regions = await outward.cloud.regions(lane=Lane.USER)
        except Unauthorized:
            hint = "check NOVITA_API_KEY in the environment or in .env"
            yield Finding("cloud", Verdict.FAILED, f"{url} does not accept the key", hint)
        except CloudRefusal as refusal:
            yield Finding("cloud", Verdict.FAILED, str(refusal), "check NOVITA_API_BASE_URL and the network")
        else:
            yield Finding("cloud", Verdict.OK, f"{url} answers and accepts the key; {len(regions)} regions")
        yield _clock(outward.transport.clock_skew_s())


def _clock(skew_s: float | None) -> Finding:
    if skew_s is None:
        return Finding("clock", Verdict.WARNING, "the cloud did not tell the time")
    if abs(skew_s) > _MOST_SKEW_S:
        hint = "set this machine's clock (NTP): waits and prices by the hour are told by it"
        return Finding("clock", Verdict.WARNING, f"{-skew_s:+.0f} s against the cloud's", hint)
    return Finding("clock", Verdict.OK, f"within {_MOST_SKEW_S:.0f} s of the cloud's")
