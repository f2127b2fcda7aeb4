"""What a webhook says: the event and its instance as it was then. No passwords, no environment values.

Every field is named here one by one, so that nothing gets out by being added to a value elsewhere. The body
is made once, in the event's transaction; retries and replays send the same bytes.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

import orjson

from ostler.cloud.upstream import Upstream
from ostler.domain.events import PublicEvent
from ostler.domain.lifecycle import State
from ostler.domain.operations import Operation, OperationKind
from ostler.store.events import EventRow
from ostler.store.instances import InstanceRow
from ostler.usecases.failure_told import failure_told

_TELLS_ERROR = frozenset({PublicEvent.OPERATION_FAILED, PublicEvent.OFFER_MISMATCH})
_MIGRATES = frozenset({PublicEvent.MIGRATING, PublicEvent.MIGRATED})
_STARTS = frozenset({OperationKind.CREATE, OperationKind.START, OperationKind.RESTART})
_TOP_LEVEL = ("healthCheck", "error")  # details of an event that have a place of their own


def event_body(
    event: EventRow, row: InstanceRow | None, look: Upstream | None, operation: Operation | None = None
) -> str:
    """Return the JSON that receivers of an event get; `operation` is the one that the event names."""
    said: dict[str, object] = {
        "event": event.name.value,
        "id": event.id,
        "instanceId": event.instance_id,
        "novitaInstanceId": None if row is None else row.instance.upstream_id,
        "status": event.to_state,
        "previousStatus": event.from_state,
        "timestamp": instant(event.at),
        "sequence": event.sequence,
        "elapsedTime": milliseconds(event.elapsed),
        "project": event.project,
        "alarm": event.is_alarm or None,
        "reason": event.reason or None,
        "instance": None if row is None else instance_details(row, look),
        "operationId": event.operation_id,
        "startupOperation": None if operation is None else _startup(operation),
        "migration": _migration(event, row),
        "error": _error(event, row),
        **{name: event.details[name] for name in _TOP_LEVEL if name in event.details},
        "details": {name: value for name, value in event.details.items() if name not in _TOP_LEVEL} or None,
    }
    return written(said)


def ping_body(message_id: str, at: datetime) -> str:
    """Return the JSON of a test that a person asked for."""
    return written({"event": TEST_EVENT, "id": message_id, "timestamp": instant(at)})


TEST_EVENT = "webhook.test"


def written(said: Mapping[str, object]) -> str:
    """Return JSON without the fields that have nothing to say."""
    return orjson.dumps({name: value for name, value in said.items() if value is not None}).decode()


def instance_details(row: InstanceRow, look: Upstream | None) -> Mapping[str, object]:
    """Return an instance as strangers to this installation may see it."""
    instance, spec, placement = row.instance, row.instance.spec, row.placement
    said: dict[str, object | None] = {
        "id": instance.id,
        "name": instance.name,
        "novitaInstanceId": instance.upstream_id,
        "status": instance.state.value,
        "phase": None if instance.phase is None else instance.phase.value,
        "upstreamStatus": instance.upstream_word or None,
        "templateId": spec.template_id,
        "productName": spec.product_name if placement is None else placement.product_name,
        "gpuNum": spec.gpus,
        "rootfsSize": spec.rootfs_gb,
        "region": spec.region if placement is None else placement.region,
        "billingMode": spec.billing_mode.value,
        "pricePerHour": None if placement is None else float(placement.price_per_hour.amount),
        "project": spec.project,
        "labels": dict(spec.labels) or None,
        "createdAt": instant(instance.created_at),
        "readyAt": _maybe(instance.ready_at),
        "firstReadyAt": _maybe(instance.first_ready_at),
        "startedAt": _maybe(instance.start_began_at),
        "lastUsedAt": _maybe(row.last_used_at),
        "stopReason": None if instance.stop_reason is None else instance.stop_reason.value,
        "reclaimAt": _maybe(instance.reclaim_at),
        "error": None if instance.error is None else failure_told(instance.error),
        **_as_looked_at(look, instance.upstream_id),
    }
    return {name: value for name, value in said.items() if value is not None}


def instant(at: datetime) -> str:
    """Return an instant as our JSON writes it."""
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def milliseconds(time: timedelta | None) -> int | None:
    """Return a duration as our JSON writes it."""
    return None if time is None else time // timedelta(milliseconds=1)


def _maybe(at: datetime | None) -> str | None:
    return None if at is None else instant(at)


def _as_looked_at(look: Upstream | None, upstream_id: str | None) -> Mapping[str, object]:
    """Return where the instance can be reached, and until when, if the last look was at its upstream."""
    if look is None or look.id != upstream_id:
        return {}
    ports = [
        {"port": each.port, "endpoint": each.address, "type": each.protocol.value} for each in look.endpoints
    ]
    ways = (
        {}
        if look.connection is None
        else {
            "ssh": look.connection.ssh_command,
            "jupyter": look.connection.jupyter_url,
            "webTerminal": look.connection.web_terminal_url,
        }
    )
    return {
        "dataExpiresAt": _maybe(look.data_expires_at),
        "endTime": _maybe(look.ends_at),
        "portMappings": ports or None,
        "connectionDetails": {name: way for name, way in ways.items() if way} or None,
    }


def _startup(operation: Operation) -> Mapping[str, object] | None:
    """Return how far an operation is by which an instance comes up; of any other kind, nothing."""
    if operation.kind not in _STARTS:
        return None
    said: dict[str, object | None] = {
        "operationId": operation.id,
        "kind": operation.kind.value,
        "status": "open" if operation.is_open else "ended",
        "outcome": None if operation.outcome is None else operation.outcome.value,
        "phase": operation.phases[-1].name if operation.phases else None,
    }
    return {name: value for name, value in said.items() if value is not None}


def _migration(event: EventRow, row: InstanceRow | None) -> Mapping[str, object] | None:
    """Return how far a migration is, whether the cloud took the node, and what is still to be let go of."""
    if row is None or event.name not in _MIGRATES:
        return None
    is_done = event.name is PublicEvent.MIGRATED
    said: dict[str, object | None] = {
        "operationId": event.operation_id,
        "status": "migrated" if is_done else "migrating",
        "reclaimed": row.instance.is_reclaimed,
        "previousNovitaInstanceId": row.instance.predecessor_id,
    }
    return {name: value for name, value in said.items() if value is not None}


def _error(event: EventRow, row: InstanceRow | None) -> Mapping[str, object] | None:
    tells_failure = event.to_state == State.FAILED.value or event.name in _TELLS_ERROR
    if row is None or row.instance.error is None or not tells_failure:
        return None
    return failure_told(row.instance.error)
