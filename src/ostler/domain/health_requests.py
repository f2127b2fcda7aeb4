"""Reading what a request says about health checks: `healthCheck` on create, `healthCheckConfig` on start.

Absent fields keep the installation's defaults. Whether a check is wanted at all is the callers' matter:
`requests.py` and `start_requests.py`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from ostler.domain.fields import Between, FieldCode, Fields, Pattern, whole_number
from ostler.domain.health_policy import HealthPolicy

_CODE = FieldCode.INVALID_HEALTH_CHECK
PORT = Between(1, 65_535)
_TIMEOUT_MS = Between(100, 300_000)
_RETRIES = Between(1, 100)
_DELAY_MS = Between(10, 300_000)
_MAX_WAIT_MS = Between(100, 86_400_000)
_INTERVAL_S = Between(0, 86_400)
_PATH = Pattern(re.compile(r"/[!-~]{0,2047}"), "a path that begins with / and holds no spaces")
_STATUS = Between(100, 399)  # a status of 400 or more is never healthy
_KNOWN = (
    "targetPort",
    "path",
    "expectStatus",
    "timeoutMs",
    "retryAttempts",
    "retryDelayMs",
    "maxWaitTimeMs",
    "intervalSeconds",
)


@dataclass(frozen=True, slots=True)
class HealthWish:
    """What a request says: a policy, no check, or (both empty) nothing."""

    policy: HealthPolicy | None = None
    is_refused: bool = False


def read_health_wish(fields: Fields, name: str, defaults: HealthPolicy) -> HealthWish:
    """Read true, false, or an object of settings."""
    value = fields.raw(name)
    if value is None:
        return HealthWish()
    if isinstance(value, bool):
        return HealthWish(defaults) if value else HealthWish(is_refused=True)
    if not isinstance(value, Mapping):
        fields.wrong(name, _CODE, "must be true, false, or an object of settings")
        return HealthWish()
    read: list[HealthPolicy] = []
    fields.nested(name, _CODE, lambda inner: read.append(_policy(inner, defaults)))
    return HealthWish(read[0] if read else None)


def with_target(policy: HealthPolicy, target_port: int | None) -> HealthPolicy:
    """Return the policy for one port only, when one is named."""
    return policy if target_port is None else replace(policy, target_port=target_port)


def _policy(fields: Fields, defaults: HealthPolicy) -> HealthPolicy:
    fields.refuse_unknown(_KNOWN)
    interval_s = fields.whole("intervalSeconds", _CODE, _INTERVAL_S)
    return HealthPolicy(
        target_port=fields.whole("targetPort", _CODE, PORT) or defaults.target_port,
        path=fields.text("path", _CODE, _PATH) or defaults.path,
        expect_status=_expected(fields) or defaults.expect_status,
        timeout=_milliseconds(fields, "timeoutMs", _TIMEOUT_MS) or defaults.timeout,
        retry_attempts=fields.whole("retryAttempts", _CODE, _RETRIES) or defaults.retry_attempts,
        retry_delay=_milliseconds(fields, "retryDelayMs", _DELAY_MS) or defaults.retry_delay,
        max_wait=_milliseconds(fields, "maxWaitTimeMs", _MAX_WAIT_MS) or defaults.max_wait,
        interval=defaults.interval if interval_s is None else timedelta(seconds=interval_s),
    )


def _milliseconds(fields: Fields, name: str, limits: Between) -> timedelta | None:
    value = fields.whole(name, _CODE, limits)
    return None if value is None else timedelta(milliseconds=value)


def _expected(fields: Fields) -> frozenset[int]:
    value = fields.raw("expectStatus")
    if value is None:
        return frozenset()
    given = value if isinstance(value, list) else [value]
    read = [whole_number(each) for each in given]
    statuses = [each for each in read if each is not None and _STATUS.least <= each <= _STATUS.most]
    if given and len(statuses) == len(given):
        return frozenset(statuses)
    fields.wrong("expectStatus", _CODE, f"must be {_STATUS}, or a list of such")
    return frozenset()
