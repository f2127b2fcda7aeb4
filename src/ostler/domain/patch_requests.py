"""The request to change what is wanted of an instance that exists: name, labels and brakes, as a value.

`{name?, labels?, ttlSeconds?, maxCost?, idleStopMinutes?, onLimit?}`: what is absent stays; null takes a
limit away. Every wrong field is told at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from ostler.domain.catalogue import BillingMode
from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import Between, FieldCode, FieldError, Fields
from ostler.domain.instance import Instance
from ostler.domain.money import Usd
from ostler.domain.pairs import read_labels
from ostler.domain.requests import INSTANCE_NAME
from ostler.domain.spec import Limits, OnLimit

_KNOWN = ("name", "labels", "ttlSeconds", "maxCost", "idleStopMinutes", "onLimit")
_TTL_S = Between(60, 31_536_000)
_IDLE_MIN = Between(1, 43_200)


@dataclass(frozen=True, slots=True)
class PatchRequest:
    """What is to change; `named` are the fields that the body has, be it with null."""

    named: frozenset[str] = frozenset()
    name: str | None = None
    labels: Mapping[str, str] | None = None
    ttl: timedelta | None = None
    max_cost: Usd | None = None
    idle_stop: timedelta | None = None
    on_limit: OnLimit | None = None


def parse_patch(body: Mapping[str, object]) -> PatchRequest:
    """Return the change that a body asks for; raise RequestInvalid with every wrong field."""
    fields = Fields(body)
    fields.refuse_unknown(_KNOWN)
    ttl_s = fields.whole("ttlSeconds", FieldCode.INVALID_LIMIT, _TTL_S)
    idle_minutes = fields.whole("idleStopMinutes", FieldCode.INVALID_LIMIT, _IDLE_MIN)
    request = PatchRequest(
        named=frozenset(body),
        name=fields.text("name", FieldCode.INVALID_INSTANCE_NAME, INSTANCE_NAME),
        labels=read_labels(fields) if body.get("labels") is not None else None,
        ttl=None if ttl_s is None else timedelta(seconds=ttl_s),
        max_cost=fields.usd("maxCost", FieldCode.INVALID_LIMIT),
        idle_stop=None if idle_minutes is None else timedelta(minutes=idle_minutes),
        on_limit=fields.choice("onLimit", FieldCode.INVALID_LIMIT, OnLimit),
    )
    if not body:
        fields.wrong("body", FieldCode.INVALID_BODY, f"must name at least one of {', '.join(_KNOWN)}")
    if fields.errors:
        raise RequestInvalid(fields.errors)
    return request


def patched(instance: Instance, patch: PatchRequest) -> Instance:
    """Return the instance with the change in it; raise RequestInvalid for what it cannot have."""
    is_prepaid = instance.spec.billing_mode is BillingMode.MONTHLY
    if is_prepaid and patch.on_limit is OnLimit.DELETE:
        message = "must be stop: a prepaid instance cannot be deleted early"
        raise RequestInvalid([FieldError("onLimit", FieldCode.INVALID_LIMIT, message, patch.on_limit.value)])
    spec = instance.spec
    labels = spec.labels if "labels" not in patch.named else dict(patch.labels or {})
    changed = replace(spec, labels=labels, limits=_limits(spec.limits, patch))
    return replace(instance, name=patch.name or instance.name, spec=changed)


def _limits(limits: Limits, patch: PatchRequest) -> Limits:
    return Limits(
        ttl=patch.ttl if "ttlSeconds" in patch.named else limits.ttl,
        max_cost=patch.max_cost if "maxCost" in patch.named else limits.max_cost,
        on_limit=patch.on_limit or limits.on_limit,
        idle_stop=patch.idle_stop if "idleStopMinutes" in patch.named else limits.idle_stop,
    )
