"""Events as server-sent events, and as JSON wherever else the log is shown.

The id of a message is the event's: a client that comes back sends it as `Last-Event-ID`. A `reset` carries
the id to go on from.
"""

import orjson
from sse_starlette import ServerSentEvent

from ostler.notify.body import instant, milliseconds, written
from ostler.notify.feed import Reset
from ostler.store.events import EventRow

PING_S = 15  # how often an idle stream shows that it lives
RESET = "reset"


def sse_message(item: EventRow | Reset) -> ServerSentEvent:
    """Return the message for one item of the feed."""
    if isinstance(item, Reset):
        data = orjson.dumps({"event": RESET, "lastEventId": item.last_id}).decode()
        return ServerSentEvent(data, event=RESET, id=str(item.last_id))
    return ServerSentEvent(event_json(item), event=item.name.value, id=str(item.id))


def event_json(event: EventRow) -> str:
    """Return an event as the API shows it; what it has nothing to say about is left out."""
    return written(
        {
            "id": event.id,
            "event": event.name.value,
            "instanceId": event.instance_id,
            "sequence": event.sequence,
            "project": event.project,
            "timestamp": instant(event.at),
            "from": event.from_state,
            "to": event.to_state,
            "reason": event.reason or None,
            "alarm": event.is_alarm or None,
            "actor": event.actor,
            "operationId": event.operation_id,
            "elapsedTime": milliseconds(event.elapsed),
            "details": dict(event.details) or None,
        }
    )
