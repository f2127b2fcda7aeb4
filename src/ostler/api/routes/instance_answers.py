"""What routes show of an instance: a summary in lists, everything in details. Passwords are in neither.

The values come from `usecases/reading.py`; here they only get their names in JSON.
"""

from collections.abc import Mapping
from datetime import timedelta

from ostler.api.model import Answer, Dollars, Instant
from ostler.cloud.upstream import Upstream
from ostler.domain.catalogue import BillingMode
from ostler.domain.consistency import Source
from ostler.domain.failures import Failure
from ostler.domain.instance import USABLE_STATES
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.phases import StopReason
from ostler.domain.readiness import EndpointHealth, ErrorCategory, Overall
from ostler.domain.spec import OnFailure, OnLimit, OnReclaim
from ostler.store.health_reports import HealthReport
from ostler.store.instance_lists import Summary
from ostler.usecases.picture import Picture
from ostler.usecases.reading import Details

# elsewhere the last look is of a run that is over
REACHABLE = USABLE_STATES | {State.MIGRATING, State.FAILED}


class ErrorAnswer(Answer):
    """Why it came to nothing; `stillBilled` says whether it costs money all the same."""

    code: str
    message: str
    at: Instant
    hint: str | None
    still_billed: bool
    retryable: bool


class PortMapping(Answer):
    """An exposed port; the endpoint is empty until the instance runs."""

    port: int
    endpoint: str
    type: str


class ConnectionDetails(Answer):
    """The ways in; passwords are at `/credentials`."""

    ssh: str | None
    jupyter: str | None
    web_terminal: str | None


class EndpointHealthAnswer(Answer):
    """What one endpoint answered."""

    port: int
    endpoint: str
    status: str
    response_time_ms: int
    last_checked: Instant
    status_code: int | None
    error_category: ErrorCategory | None
    message: str | None


class HealthCheckAnswer(Answer):
    """What the last round of checks found."""

    overall: Overall
    endpoints: list[EndpointHealthAnswer]
    checked_at: Instant


class OpenOperation(Answer):
    """The operation that is open."""

    id: str
    kind: str
    phase: str | None
    opened_at: Instant


class InstanceSummary(Answer):
    """An instance as lists show it."""

    id: str
    source: Source
    novita_instance_id: str | None
    name: str
    status: State
    phase: str | None
    upstream_status: str | None
    product_name: str
    template_id: str
    gpu_num: int
    region: str | None
    billing_mode: BillingMode | None
    price_per_hour: Dollars | None
    project: str | None
    labels: Mapping[str, str]
    created_at: Instant
    ready_at: Instant | None
    first_ready_at: Instant | None
    last_used_at: Instant | None
    observed_at: Instant | None
    stop_reason: StopReason | None
    error: ErrorAnswer | None


class InstanceDetails(InstanceSummary):
    """Everything about one instance."""

    age_seconds: float | None
    rootfs_size: int | None
    port_mappings: list[PortMapping]
    connection_details: ConnectionDetails
    health_check: HealthCheckAnswer | None
    operation: OpenOperation | None
    cost_so_far: Dollars
    started_at: Instant | None
    reclaim_at: Instant | None
    data_expires_at: Instant | None
    end_time: Instant | None
    max_price_per_hour: Dollars | None
    max_cost: Dollars | None
    ttl_seconds: int | None
    idle_stop_minutes: int | None
    on_limit: OnLimit
    on_failure: OnFailure
    on_reclaim: OnReclaim
    waited: str | None = None


def error_of(failure: Failure | None) -> ErrorAnswer | None:
    """Return a failure as it is shown."""
    if failure is None:
        return None
    return ErrorAnswer(
        code=failure.code,
        message=failure.message,
        at=failure.at,
        hint=failure.hint or None,
        still_billed=failure.still_billed,
        retryable=failure.is_retryable,
    )


def summary_of(found: Summary, picture: Picture) -> InstanceSummary:
    """Return one row of a list."""
    return InstanceSummary(
        id=found.id,
        source=_source(found.upstream_id),
        novita_instance_id=found.upstream_id,
        name=found.name,
        status=found.state,
        phase=found.phase,
        upstream_status=found.upstream_word or None,
        product_name=found.product_name,
        template_id=found.template_id,
        gpu_num=found.gpus,
        region=found.region,
        billing_mode=found.billing_mode,
        price_per_hour=_dollars(found.price_per_hour),
        project=found.project,
        labels=found.labels,
        created_at=found.created_at,
        ready_at=found.ready_at,
        first_ready_at=found.first_ready_at,
        last_used_at=found.last_used_at,
        observed_at=picture.observed_at(
            found.upstream_id, found.placed_at, found.observed_at, found.looked_at
        ),
        stop_reason=found.stop_reason,
        error=error_of(found.error),
    )


def details_of(found: Details) -> InstanceDetails:
    """Return everything about one instance."""
    instance, placement, look = found.row.instance, found.row.placement, found.look
    spec, limits = instance.spec, instance.spec.limits
    is_up = instance.state in REACHABLE
    return InstanceDetails(
        id=instance.id,
        source=_source(instance.upstream_id),
        novita_instance_id=instance.upstream_id,
        name=instance.name,
        status=instance.state,
        phase=instance.phase,
        upstream_status=instance.upstream_word or None,
        product_name=spec.product_name if placement is None else placement.product_name,
        template_id=spec.template_id,
        gpu_num=spec.gpus,
        region=spec.region if placement is None else placement.region,
        billing_mode=spec.billing_mode if placement is None else placement.offer.billing_mode,
        price_per_hour=None if placement is None else placement.price_per_hour.amount,
        project=spec.project,
        labels=spec.labels,
        created_at=instance.created_at,
        ready_at=instance.ready_at,
        first_ready_at=instance.first_ready_at,
        last_used_at=found.row.last_used_at,
        observed_at=found.observed_at,
        age_seconds=age_of(found),
        stop_reason=instance.stop_reason,
        error=error_of(instance.error),
        rootfs_size=(look.rootfs_gb if look is not None and look.rootfs_gb else spec.rootfs_gb),
        port_mappings=ports_of(look, is_up=is_up),
        connection_details=ways_in_of(look if is_up else None),
        health_check=_health(found.health),
        operation=_operation(found),
        cost_so_far=found.cost_so_far.amount,
        started_at=instance.start_began_at,
        reclaim_at=instance.reclaim_at,
        data_expires_at=None if look is None else look.data_expires_at,
        end_time=None if look is None else look.ends_at,
        max_price_per_hour=_dollars(spec.max_price_per_hour),
        max_cost=_dollars(limits.max_cost),
        ttl_seconds=None if limits.ttl is None else limits.ttl // timedelta(seconds=1),
        idle_stop_minutes=None if limits.idle_stop is None else limits.idle_stop // timedelta(minutes=1),
        on_limit=limits.on_limit,
        on_failure=spec.on_failure,
        on_reclaim=spec.on_reclaim,
    )


def age_of(found: Details) -> float | None:
    """Return how many seconds ago the cloud last confirmed what is shown."""
    return None if found.age is None else round(found.age.total_seconds(), 3)


def endpoint_health_of(each: EndpointHealth) -> EndpointHealthAnswer:
    """Return what one endpoint answered, as it is shown."""
    return EndpointHealthAnswer(
        port=each.port,
        endpoint=each.endpoint,
        status="healthy" if each.is_healthy else "unhealthy",
        response_time_ms=each.response_time_ms,
        last_checked=each.last_checked,
        status_code=each.status_code,
        error_category=each.error_category,
        message=each.message or None,
    )


def ports_of(look: Upstream | None, *, is_up: bool) -> list[PortMapping]:
    """Return the exposed ports; one that is not up has no endpoints."""
    if look is None:
        return []
    return [
        PortMapping(port=each.port, endpoint=each.address if is_up else "", type=each.protocol)
        for each in look.endpoints
    ]


def ways_in_of(look: Upstream | None) -> ConnectionDetails:
    """Return the ways in that a look showed."""
    found = None if look is None else look.connection
    if found is None:
        return ConnectionDetails(ssh=None, jupyter=None, web_terminal=None)
    return ConnectionDetails(
        ssh=found.ssh_command or None,
        jupyter=found.jupyter_url or None,
        web_terminal=found.web_terminal_url or None,
    )


def _health(report: HealthReport | None) -> HealthCheckAnswer | None:
    if report is None:
        return None
    return HealthCheckAnswer(
        overall=report.overall,
        endpoints=[endpoint_health_of(each) for each in report.endpoints],
        checked_at=report.checked_at,
    )


def _operation(found: Details) -> OpenOperation | None:
    if found.operation is None:
        return None
    operation = found.operation.operation
    return OpenOperation(
        id=operation.id,
        kind=operation.kind,
        phase=operation.phases[-1].name if operation.phases else None,
        opened_at=operation.opened_at,
    )


def _source(upstream_id: str | None) -> Source:
    return Source.LOCAL if upstream_id is None else Source.MERGED


def _dollars(amount: Usd | None) -> Dollars | None:
    return None if amount is None else amount.amount
