"""Reading instances: rows of lists, single answers, jobs on them. Written for speed: a pass reads them all.

The cloud's statuses become states here; a word that is not in the table becomes UNKNOWN and stays readable
in `status`. Rows of lists carry no connection details and often no endpoints.
"""

import sys
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import TypedDict

from ostler.cloud.novita import wire
from ostler.cloud.novita.wire import Row, Unreadable
from ostler.cloud.upstream import (
    Connection,
    Endpoint,
    Job,
    JobRef,
    Page,
    SpotStatus,
    Upstream,
)
from ostler.domain.catalogue import BillingMode, Protocol
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState

_STATES: Mapping[str, UpstreamState] = {
    "pending": UpstreamState.PROVISIONING,
    "toCreate": UpstreamState.PROVISIONING,
    "creating": UpstreamState.PROVISIONING,
    "pulling": UpstreamState.PULLING,
    "toStart": UpstreamState.BOOTING,
    "starting": UpstreamState.BOOTING,
    "toRestart": UpstreamState.BOOTING,
    "restarting": UpstreamState.BOOTING,
    "toReset": UpstreamState.BOOTING,
    "resetting": UpstreamState.BOOTING,
    "running": UpstreamState.RUNNING,
    "toStop": UpstreamState.STOPPING,
    "stopping": UpstreamState.STOPPING,
    "exited": UpstreamState.EXITED,
    "freezing": UpstreamState.FROZEN,
    "migrating": UpstreamState.MIGRATING,
    "toRemove": UpstreamState.REMOVING,
    "removing": UpstreamState.REMOVING,
    "removed": UpstreamState.REMOVED,
}
_SPOT: Mapping[str, SpotStatus] = {
    "": SpotStatus.NONE,
    "running": SpotStatus.RUNNING,
    "notified": SpotStatus.NOTIFIED,
    "reclaiming": SpotStatus.RECLAIMING,
    "terminated": SpotStatus.TERMINATED,
}
_MODES: Mapping[str, BillingMode] = {mode.value: mode for mode in BillingMode}
_PROTOCOLS: Mapping[str, Protocol] = {"http": Protocol.HTTP, "https": Protocol.HTTP, "tcp": Protocol.TCP}


def page(answer: object, began_at: datetime) -> Page:
    """Read one page; a row that cannot be read is named by its id, a row without an id spoils the page."""
    body = wire.as_row(answer, "body")
    upstreams = []
    unreadable: dict[str, str] = {}
    for index, item in enumerate(wire.rows(body, "instances")):
        place = f"instances[{index}]"
        row = wire.as_row(item, place)
        try:
            upstreams.append(listed(row, began_at))
        except Unreadable as error:
            try:
                upstream_id = wire.needed_text(row, "id")
            except Unreadable as nameless:
                raise nameless.within(place) from error
            unreadable[upstream_id] = str(error)
    return Page(tuple(upstreams), began_at, wire.number(body, "total"), unreadable)


def single(answer: object, began_at: datetime) -> Upstream:
    """Read the answer to a GET of one instance, with the ways in."""
    row = wire.as_row(answer, "body")
    return _upstream(row, began_at, connection(row))


def listed(row: Row, began_at: datetime) -> Upstream:
    """Read one row of a list."""
    return _upstream(row, began_at, None)


def _upstream(row: Row, began_at: datetime, ways_in: Connection | None) -> Upstream:
    text, instant = wire.text, wire.instant
    status = wire.needed_text(row, "status")
    error = wire.inner(row, "statusError")
    return Upstream(
        id=wire.needed_text(row, "id"),
        name=text(row, "name"),
        status=sys.intern(status),
        state=_STATES.get(status, UpstreamState.UNKNOWN),
        observed_at=began_at,
        endpoints=_endpoints(row),
        connection=ways_in,
        created_at=instant(row, "createdAt"),
        started_at=instant(row, "lastStartedAt"),
        stopped_at=instant(row, "lastStoppedAt"),
        use_seconds=wire.number(row, "useTime"),
        ends_at=instant(row, "endTime"),
        data_expires_at=instant(row, "releaseDataAt"),
        spot_status=_SPOT.get(text(row, "spotStatus"), SpotStatus.UNKNOWN),
        reclaim_at=instant(row, "spotReclaimTime"),
        error_code=text(error, "state"),
        error_message=text(error, "message"),
        jobs=_job_refs(row),
        **_rented(row),
    )


class _Rented(TypedDict):
    """What was rented; a fleet has many instances and few of these."""

    region_id: str
    region_name: str
    product_id: str
    product_name: str
    image: str
    registry_auth_id: str
    gpus: int
    rootfs_gb: int
    billing_mode: BillingMode | None
    price_per_gpu_hour: Usd | None
    disk_price_per_gb_day: Usd | None
    stopped_disk_price_per_gb_day: Usd | None


_RENTED = (
    *(
        "clusterId",
        "clusterName",
        "productId",
        "productName",
        "imageUrl",
        "imageAuthId",
        "gpuNum",
        "rootfsSize",
    ),
    *("billingMode", "instancePrice", "localStoragePrice", "exitedLocalStoragePrice"),
)


def _rented(row: Row) -> _Rented:
    values = tuple(map(row.get, _RENTED))
    try:
        return _rented_as(values)
    except TypeError:  # a value that cannot be remembered is none that can be read
        return _rented_as.__wrapped__(values)


@lru_cache(maxsize=4096)
def _rented_as(values: tuple[object, ...]) -> _Rented:
    row = dict(zip(_RENTED, values, strict=True))
    text, price = wire.text, wire.price
    return _Rented(
        region_id=text(row, "clusterId"),
        region_name=text(row, "clusterName"),
        product_id=text(row, "productId"),
        product_name=text(row, "productName"),
        image=text(row, "imageUrl"),
        registry_auth_id=text(row, "imageAuthId"),
        gpus=wire.count(row, "gpuNum"),
        rootfs_gb=wire.count(row, "rootfsSize"),
        billing_mode=_MODES.get(text(row, "billingMode")),
        price_per_gpu_hour=price(row, "instancePrice"),
        disk_price_per_gb_day=price(row, "localStoragePrice"),
        stopped_disk_price_per_gb_day=price(row, "exitedLocalStoragePrice"),
    )


def _endpoints(row: Row) -> tuple[Endpoint, ...]:
    mappings = wire.rows(row, "portMappings")
    return tuple(_endpoint(wire.as_row(item, "portMappings")) for item in mappings) if mappings else ()


def _endpoint(row: Row) -> Endpoint:
    protocol = _PROTOCOLS.get(wire.text(row, "type"))
    if protocol is None:
        raise wire.unreadable(key="type", value=row.get("type"))
    port = wire.number(row, "port")
    if port is None:
        raise wire.unreadable(key="port", value=port)
    return Endpoint(port, protocol, wire.text(row, "endpoint"))


def _job_refs(row: Row) -> tuple[JobRef, ...]:
    items = wire.rows(row, "jobs")
    if not items:
        return ()
    refs = (wire.as_row(item, "jobs") for item in items)
    return tuple(JobRef(wire.text(ref, "id") or wire.text(ref, "Id"), wire.text(ref, "type")) for ref in refs)


def connection(row: Row) -> Connection:
    """Read the ways in; each is empty while it does not work."""
    ssh = wire.inner(row, "connectComponentSSH")
    jupyter = _working(row, "connectComponentJupyter")
    terminal = _working(row, "connectComponentWebTerminal")
    log = wire.inner(row, "connectComponentLog")
    return Connection(
        # older answers carry the two at the top
        ssh_command=wire.text(ssh, "sshCommand") or wire.text(row, "sshCommand"),
        ssh_password=wire.secret(
            ssh if "password" in ssh else {"password": row.get("sshPassword")}, "password"
        ),
        jupyter_url=wire.text(jupyter, "address"),
        web_terminal_url=wire.text(terminal, "address"),
        web_terminal_user=wire.text(terminal, "username"),
        web_terminal_password=wire.secret(terminal, "password"),
        system_log_url=wire.text(log, "systemLogAddress"),
        instance_log_url=wire.text(log, "instanceLogAddress"),
    )


def _working(row: Row, key: str) -> Row:
    component = wire.inner(row, key)
    return component if wire.flag(component, "isRunning", default=True) else {}


def jobs(answer: object) -> tuple[Job, ...]:
    """Read the cloud's list of jobs."""
    items = wire.rows(wire.as_row(answer, "body"), "jobs")
    return tuple(_job(wire.as_row(item, "jobs")) for item in items)


def _job(row: Row) -> Job:
    state = wire.inner(row, "state")
    return Job(
        id=wire.needed_text(row, "Id"),
        kind=wire.text(row, "type"),
        state=wire.text(state, "state"),
        instance_id=wire.text(row, "instanceId"),
        error=wire.text(state, "errorMessage") or wire.text(state, "error"),
        created_at=wire.instant(row, "createdAt"),
    )
