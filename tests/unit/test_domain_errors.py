"""What a caller asked wrongly is told with its code, what was asked, and what was seen."""

import pytest

from ostler.domain.conflicts import ConflictCode, Verb
from ostler.domain.errors import (
    AskedWrongly,
    FixedBySetting,
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    InstanceTerminated,
    Missing,
    NameAmbiguous,
    NoOfferAnywhere,
    NotAllowed,
    NotAuthenticated,
    NotOurs,
    OutsideProject,
    OverBudget,
    RequestInvalid,
    TemplateUnusable,
    Thing,
    TooManyRequests,
    VerbRefused,
)
from ostler.domain.fields import FieldCode, FieldError
from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.offers import LeftOut, LeftOutReason
from ostler.domain.operations import OperationKind
from ostler.domain.roles import Role
from ostler.domain.templates import Problem

BUSY = ("op-1", OperationKind.STOP)
EVERY_ERROR = [
    (
        RequestInvalid([FieldError("gpuNum", FieldCode.INVALID_GPU_NUM, "must be 1", 9)]),
        "VALIDATION_ERROR",
        False,
    ),
    (NotAuthenticated(), "AUTHENTICATION_ERROR", False),
    (NotAllowed(Role.VIEWER, Role.OPERATOR), "FORBIDDEN", False),
    (OutsideProject("red", "blue"), "FORBIDDEN", False),
    (OutsideProject(None, "blue"), "FORBIDDEN", False),
    (NotOurs("deleted", "up-1", Kinship.STRANGER), "FORBIDDEN", False),
    (TooManyRequests(7, 600, 60_000), "RATE_LIMIT_EXCEEDED", True),
    *((Missing(thing, "x-1"), thing.value, False) for thing in Thing),
    (NoOfferAnywhere("H100", []), "NO_OPTIMAL_PRODUCT_ANY_REGION", True),
    (TemplateUnusable("12", [Problem("image", "", "is missing")]), "TEMPLATE_INVALID", False),
    *((VerbRefused(Verb.START, code, State.STOPPING, BUSY), code.value, True) for code in ConflictCode),
    (InstanceTerminated("i-1"), "INSTANCE_TERMINATED", False),
    (FixedBySetting("default", "WEBHOOK_URL"), "FIXED_BY_SETTING", False),
    (NameAmbiguous("demo", ["a", "b"]), "NAME_AMBIGUOUS", False),
    (OverBudget("lab", Usd.of(5), Usd.of(6)), "BUDGET_EXCEEDED", False),
    (IdempotencyKeyInUse(), "IDEMPOTENCY_KEY_IN_PROGRESS", True),
    (IdempotencyKeyReused(), "IDEMPOTENCY_KEY_REUSED", False),
]


@pytest.mark.parametrize(("error", "code", "is_retryable"), EVERY_ERROR)
def test_every_error_has_its_code_and_says_whether_it_may_pass_later(
    error: AskedWrongly,
    code: str,
    is_retryable: bool,  # noqa: FBT001 -- a case's expectation
) -> None:
    assert error.error_code == code
    assert error.is_retryable is is_retryable
    assert str(error)


def test_every_class_of_the_tree_is_tried_here() -> None:
    assert {type(error) for error, _, _ in EVERY_ERROR} == set(AskedWrongly.__subclasses__())


def test_a_refused_verb_names_the_state_and_the_operation_in_its_way() -> None:
    error = VerbRefused(Verb.START, ConflictCode.IN_PROGRESS, State.STOPPING, BUSY)
    assert error.details == {"state": "stopping", "verb": "start", "operationId": "op-1", "kind": "stop"}
    assert "operationId" not in VerbRefused(Verb.STOP, ConflictCode.NOT_STOPPABLE, State.FAILED, None).details


def test_no_offer_lists_every_region_and_why() -> None:
    error = NoOfferAnywhere(
        "H100", [LeftOut("US-CA-06", LeftOutReason.OVER_PRICE_CAP, "h100", Usd.of("2.5"))]
    )
    assert error.details["regions"] == [
        {
            "region": "US-CA-06",
            "reason": "dearer than maxPricePerHour",
            "productId": "h100",
            "pricePerHour": 2.5,
        }
    ]


def test_a_missing_thing_is_named() -> None:
    assert str(Missing(Thing.REGISTRY_AUTH, "x-1")) == "there is no registry auth 'x-1'"


def test_an_unusable_template_lists_its_problems() -> None:
    error = TemplateUnusable("12", [Problem("image", "", "is missing")])
    assert error.details["problems"] == [{"field": "image", "value": "", "message": "is missing"}]
