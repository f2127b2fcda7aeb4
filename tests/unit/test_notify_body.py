"""What a webhook says of the operation that its event belongs to."""

import json

import pytest

from ostler.domain.events import PublicEvent
from ostler.domain.operations import OperationKind, Outcome, ended, in_phase
from ostler.notify.body import event_body
from ostler.store.events import EventRow
from tests.support.builders import INSTANCE_ID, NOW, after, an_operation

EVENT = EventRow(PublicEvent.READY, NOW, instance_id=INSTANCE_ID, operation_id="op-1")
STARTS = [OperationKind.CREATE, OperationKind.START, OperationKind.RESTART]


@pytest.mark.parametrize("kind", OperationKind)
def test_an_operation_by_which_an_instance_comes_up_tells_its_own_status_and_phase(
    kind: OperationKind,
) -> None:
    operation = in_phase(an_operation(kind), "booting", NOW)
    said = json.loads(event_body(EVENT, None, None, operation))
    told = {"operationId": "op-1", "kind": kind, "status": "open", "phase": "booting"}
    assert said["operationId"] == "op-1"
    assert said.get("startupOperation") == (told if kind in STARTS else None)


def test_an_operation_that_is_over_tells_how_it_ended() -> None:
    operation = ended(an_operation(OperationKind.START), Outcome.SUCCEEDED, after(1))
    told = json.loads(event_body(EVENT, None, None, operation))["startupOperation"]
    assert (told["status"], told["outcome"]) == ("ended", "succeeded")
