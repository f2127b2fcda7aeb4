"""Events as server-sent events: what a client gets, and what it comes back with."""

import json
from dataclasses import replace
from datetime import timedelta

from ostler.domain.events import PublicEvent
from ostler.notify.feed import Reset
from ostler.notify.sse import event_json, sse_message
from ostler.store.events import EventRow
from tests.support.cloud import EPOCH


def test_a_message_carries_the_id_that_a_client_comes_back_with() -> None:
    event = EventRow(
        PublicEvent.READY,
        EPOCH,
        "i-1",
        7,
        from_state="running",
        to_state="ready",
        elapsed=timedelta(seconds=2),
        details={"a": 1},
        id=41,
    )
    lines = sse_message(event).encode().decode().split("\r\n")
    assert lines[:2] == ["id: 41", "event: instance.ready"]
    assert json.loads(lines[2].removeprefix("data: ")) == {
        "id": 41,
        "event": "instance.ready",
        "instanceId": "i-1",
        "sequence": 7,
        "timestamp": "2026-01-01T00:00:00.000Z",
        "from": "running",
        "to": "ready",
        "actor": "ostler",
        "elapsedTime": 2000,
        "details": {"a": 1},
    }
    assert "\n" not in event_json(replace(event, reason="two\nlines"))


def test_a_reset_carries_the_id_to_go_on_from() -> None:
    lines = sse_message(Reset(41)).encode().decode().split("\r\n")
    assert lines[:2] == ["id: 41", "event: reset"]
