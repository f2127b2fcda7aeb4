"""The request to create an instance: read from a body whole, with every wrong field told at once.

Nothing is looked up here: that a region or a template exists is found out later. Only `wrong_regions` and
`unknown_regions` need the cloud's list, which their callers have.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from urllib.parse import urlsplit

from ostler.domain.catalogue import BillingMode, Region, region_called
from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import Between, FieldCode, FieldError, Fields, Pattern, whole_number
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.health_requests import read_health_wish
from ostler.domain.keys import project_for
from ostler.domain.pairs import read_envs, read_labels
from ostler.domain.spec import InstanceSpec, Limits, OnFailure, OnLimit, OnReclaim

INSTANCE_NAME = Pattern(re.compile(r"[A-Za-z0-9_-]{1,100}"), "1 to 100 letters, digits, - and _")
MAX_WEBHOOK_URL = 2048
MAX_REGIONS = 32
_PRODUCT = Pattern(re.compile(r"(?=.*\S)[^\x00-\x1f\x7f]{1,255}"), "a text of 1 to 255 characters")
_REGION = Pattern(re.compile(r"(?=.*\S)[^\x00-\x1f\x7f]{1,255}"), "a region's code, id or name")
_TEMPLATE = re.compile(r"[^\s\x00-\x1f\x7f]{1,255}")
PROJECT = Pattern(
    re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"),
    "1 to 63 letters, digits, '.', - and _, not beginning with a sign",
)
_TEMPLATE_NUMBERS = 2**63  # larger ones do not reach us as they were written
_GPUS = Between(1, 8)
_ROOTFS_GB = Between(10, 1000)
_MONTHS = Between(1, 12)
_TTL_S = Between(60, 31_536_000)
_IDLE_MIN = Between(1, 43_200)
_STARTUP_S = Between(10, 86_400)
_GIVE_UP_S = Between(60, 2_592_000)
CREATE_FIELDS = frozenset(
    {
        "name",
        "productName",
        "templateId",
        "gpuNum",
        "rootfsSize",
        "region",
        "webhookUrl",
        "billingMode",
        "months",
        "confirmPrepaid",
        "regions",
        "maxPricePerHour",
        "ttlSeconds",
        "maxCost",
        "onLimit",
        "idleStopMinutes",
        "onFailure",
        "onReclaim",
        "healthCheck",
        "startupTimeoutSeconds",
        "envs",
        "project",
        "labels",
        "retryUntilAvailable",
        "giveUpAfterSeconds",
        "dryRun",
    }
)


@dataclass(frozen=True, slots=True)
class Defaults:
    """What an installation's settings say: for fields that are absent, and of who may be called back."""

    health: HealthPolicy = field(default_factory=HealthPolicy)
    startup_timeout: timedelta = timedelta(minutes=10)
    receivers: "ReceiverRule" = field(default=lambda _: None)  # which may be called back; all


ReceiverRule = Callable[[str], str | None]  # why a URL may not be called back; None: it may


@dataclass(frozen=True, slots=True)
class CreateRequest:
    """What to create, or only to plan."""

    spec: InstanceSpec
    is_dry_run: bool = False


def parse_create(
    body: Mapping[str, object], defaults: Defaults, own_project: str | None = None
) -> CreateRequest:
    """Return the create that a body asks for, in the project of who asks, if they have one.

    Raises RequestInvalid with every wrong field, or OutsideProject.
    """
    fields = Fields(body)
    fields.refuse_unknown(CREATE_FIELDS)
    spec = _spec(fields, defaults)
    is_dry_run = fields.flag("dryRun")
    if fields.errors:
        raise RequestInvalid(fields.errors)
    return CreateRequest(replace(spec, project=project_for(spec.project, own_project)), is_dry_run)


def regions_named(body: Mapping[str, object]) -> Mapping[str, str]:
    """Return the regions that a body names, by their places in it, as far as they can be names at all."""
    fields = Fields(body)
    return _by_place(fields.text("region", FieldCode.INVALID_REGION, _REGION), _regions(fields)[0])


def wrong_regions(spec: InstanceSpec, regions: Sequence[Region]) -> tuple[FieldError, ...]:
    """Return an error for each region asked for that the cloud does not have."""
    return unknown_regions(_by_place(spec.region, spec.regions), regions)


def unknown_regions(named: Mapping[str, str], regions: Sequence[Region]) -> tuple[FieldError, ...]:
    """Return an error for each place that names a region that the cloud does not have."""
    allowed = ", ".join(region.code for region in regions)
    return tuple(
        FieldError(place, FieldCode.INVALID_REGION, f"must be one of {allowed}", word)
        for place, word in named.items()
        if region_called(regions, word) is None
    )


def read_webhook_url(fields: Fields, rule: ReceiverRule) -> str | None:
    """Read the address to be called; where its name leads to is checked when it is called."""
    value = fields.raw("webhookUrl")
    if value is None:
        return None
    problem: str | None = f"must be an http or https URL with a host, at most {MAX_WEBHOOK_URL} characters"
    if isinstance(value, str) and _is_web_address(value):
        problem = rule(value)
    if problem is None:
        return str(value)
    fields.wrong("webhookUrl", FieldCode.INVALID_WEBHOOK_URL, problem)
    return None


def _by_place(region: str | None, regions: Sequence[str] | None) -> Mapping[str, str]:
    preferred = {} if region is None else {"region": region}
    return preferred | {f"regions[{index}]": word for index, word in enumerate(regions or ())}


def _spec(fields: Fields, defaults: Defaults) -> InstanceSpec:
    mode, months = _billing(fields)
    regions, is_anywhere = _regions(fields)
    timeout_s = fields.whole("startupTimeoutSeconds", FieldCode.INVALID_TIMEOUT, _STARTUP_S)
    give_up_s = fields.whole("giveUpAfterSeconds", FieldCode.INVALID_TIMEOUT, _GIVE_UP_S)
    return InstanceSpec(
        name=fields.required_text("name", FieldCode.INVALID_INSTANCE_NAME, INSTANCE_NAME),
        product_name=fields.required_text("productName", FieldCode.INVALID_PRODUCT_NAME, _PRODUCT),
        template_id=_template_id(fields),
        gpus=fields.whole("gpuNum", FieldCode.INVALID_GPU_NUM, _GPUS) or 1,
        rootfs_gb=fields.whole("rootfsSize", FieldCode.INVALID_ROOTFS_SIZE, _ROOTFS_GB),
        region=fields.text("region", FieldCode.INVALID_REGION, _REGION),
        regions=regions,
        is_anywhere=is_anywhere,
        billing_mode=mode,
        months=months,
        max_price_per_hour=fields.usd("maxPricePerHour", FieldCode.INVALID_PRICE_CAP),
        webhook_url=read_webhook_url(fields, defaults.receivers),
        limits=_limits(fields, mode),
        on_failure=_on_failure(fields, mode),
        on_reclaim=fields.choice("onReclaim", FieldCode.INVALID_POLICY, OnReclaim) or OnReclaim.MIGRATE,
        health=read_health_wish(fields, "healthCheck", defaults.health).policy,
        startup_timeout=defaults.startup_timeout if timeout_s is None else timedelta(seconds=timeout_s),
        envs=read_envs(fields),
        project=fields.text("project", FieldCode.INVALID_PROJECT, PROJECT),
        labels=read_labels(fields),
        retry_until_available=fields.flag("retryUntilAvailable"),
        give_up_after=timedelta(hours=24) if give_up_s is None else timedelta(seconds=give_up_s),
    )


def _template_id(fields: Fields) -> str:
    value = fields.raw("templateId")
    if isinstance(value, str) and _TEMPLATE.fullmatch(value):
        return value
    number = whole_number(value)
    if number is not None and 0 < number < _TEMPLATE_NUMBERS:
        return str(number)
    form = "a template's id: 1 to 255 characters without spaces, or a positive whole number"
    message = f"is required: {form}" if value is None else f"must be {form}"
    fields.wrong("templateId", FieldCode.INVALID_TEMPLATE_ID, message)
    return ""


def _billing(fields: Fields) -> tuple[BillingMode, int]:
    mode = fields.choice("billingMode", FieldCode.INVALID_BILLING_MODE, BillingMode)
    months = fields.whole("months", FieldCode.INVALID_MONTHS, _MONTHS)
    is_confirmed = fields.flag("confirmPrepaid")
    if mode is BillingMode.MONTHLY:
        _require_prepaid(fields, is_confirmed=is_confirmed)
        return mode, months or 0
    if months is not None:
        fields.wrong("months", FieldCode.INVALID_MONTHS, "is for billingMode monthly only")
    return mode or BillingMode.SPOT, 0


def _require_prepaid(fields: Fields, *, is_confirmed: bool) -> None:
    """Note what a prepaid create lacks; a value that is none of its kind was noted before."""
    if fields.raw("months") is None:
        fields.wrong("months", FieldCode.INVALID_MONTHS, f"is required with billingMode monthly: {_MONTHS}")
    said = fields.raw("confirmPrepaid")
    if not is_confirmed and (said is None or said is False):
        fields.wrong(
            "confirmPrepaid",
            FieldCode.PREPAID_NOT_CONFIRMED,
            "must be true with billingMode monthly: it is paid in advance and cannot be deleted early",
        )


def _limits(fields: Fields, mode: BillingMode) -> Limits:
    ttl_s = fields.whole("ttlSeconds", FieldCode.INVALID_LIMIT, _TTL_S)
    idle_minutes = fields.whole("idleStopMinutes", FieldCode.INVALID_LIMIT, _IDLE_MIN)
    on_limit = fields.choice("onLimit", FieldCode.INVALID_LIMIT, OnLimit) or OnLimit.STOP
    if mode is BillingMode.MONTHLY and on_limit is OnLimit.DELETE:
        fields.wrong(
            "onLimit", FieldCode.INVALID_LIMIT, "must be stop: a prepaid instance cannot be deleted early"
        )
    return Limits(
        ttl=None if ttl_s is None else timedelta(seconds=ttl_s),
        max_cost=fields.usd("maxCost", FieldCode.INVALID_LIMIT),
        on_limit=on_limit,
        idle_stop=None if idle_minutes is None else timedelta(minutes=idle_minutes),
    )


def _on_failure(fields: Fields, mode: BillingMode) -> OnFailure:
    asked = fields.choice("onFailure", FieldCode.INVALID_POLICY, OnFailure)
    if mode is not BillingMode.MONTHLY:
        return asked or OnFailure.DELETE
    if asked is OnFailure.DELETE:
        fields.wrong(
            "onFailure",
            FieldCode.INVALID_POLICY,
            "must be stop or keep: a prepaid instance cannot be deleted early",
        )
    return asked or OnFailure.KEEP


def _regions(fields: Fields) -> tuple[tuple[str, ...] | None, bool]:
    value = fields.raw("regions")
    if value is None or value == "any":
        return None, value == "any"
    if isinstance(value, list) and 0 < len(value) <= MAX_REGIONS and all(_is_region(word) for word in value):
        return tuple(str(word) for word in value), False
    fields.wrong(
        "regions",
        FieldCode.INVALID_REGION,
        f'must be "any", or a list of 1 to {MAX_REGIONS} regions: {_REGION}',
    )
    return None, False


def _is_region(word: object) -> bool:
    return isinstance(word, str) and _REGION.form.fullmatch(word) is not None


def _is_web_address(text: str) -> bool:
    if len(text) > MAX_WEBHOOK_URL or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        has_port_in_range = parts.port is None or parts.port > 0
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and has_port_in_range
