"""The cloud's refusals in all their forms become ours; secrets in its words do not come through."""

from datetime import UTC, datetime

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostler.cloud.lane import Lane
from ostler.cloud.novita.errors import cleaned, envelope_of, refusal_of
from ostler.cloud.refusals import (
    CloudRefusal,
    Gone,
    InvalidState,
    Malformed,
    NoCapacity,
    RefusalReason,
    Refused,
    Unauthorized,
)
from ostler.cloud.request import Kind, Reply, Request

SEEN_AT = datetime(2026, 1, 1, tzinfo=UTC)
HTML = b"<html><body>404 Not Found</body></html>"


def refusal(status: int, body: object, subject: str = "instance i-1", kind: Kind = Kind.READ) -> CloudRefusal:
    content = body if isinstance(body, bytes) else orjson.dumps(body)
    return refusal_of(Request("op", kind, Lane.USER, "GET", "/"), Reply(status, content, SEEN_AT), subject)


def envelope(reason: str, message: str = "words") -> dict[str, object]:
    return {"code": 400, "reason": reason, "message": message, "metadata": {}}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"message": "m", "error": "e", "reason": "R"}', "m"),
        (b'{"error": "e", "reason": "R"}', "e"),
        (b'{"message": "", "reason": "R"}', "R"),
        (b'"words"', "words"),
        (b"plain words", "plain words"),
        (b'{"code":400,"reason":"NOT_FOUND","messa', "its answer cannot be read"),
        (HTML, "its answer cannot be read"),
        (b"", ""),
        (b"{}", ""),
        (b"\xff\xfe", "��"),
    ],
)
def test_words_are_found_in_every_form_of_the_envelope(body: bytes, said: str) -> None:
    assert envelope_of(body).said == said


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "UNAUTHORIZED"),
        (401, ""),
        (403, "INVALID_API_KEY"),
        (400, "MISSING_API_KEY"),
        (401, "FAILED_TO_AUTH"),
    ],
)
def test_a_wrong_key_has_many_names(status: int, reason: str) -> None:
    assert isinstance(refusal(status, envelope(reason)), Unauthorized)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, envelope("RESOURCE_NOT_FOUND")),
        (404, {"message": "nope"}),
        (404, b""),
        (400, envelope("", "template not found")),
        (400, envelope("SOMETHING_NOT_FOUND")),
        (400, envelope("SOMETHING_NOT_FOUNT")),
    ],
)
def test_not_found_has_many_forms(status: int, body: object) -> None:
    seen = refusal(status, body)
    assert isinstance(seen, Gone)
    assert (seen.subject, seen.observed_at) == ("instance i-1", SEEN_AT)


@pytest.mark.parametrize("kind", Kind)
def test_an_unknown_path_is_not_a_missing_instance(kind: Kind) -> None:
    seen = refusal(404, envelope("API_NOT_FOUND"), kind=kind)
    assert isinstance(seen, Refused)
    assert seen.code == "API_NOT_FOUND"


def test_the_404_page_of_a_gateway_is_not_the_clouds_word() -> None:
    assert isinstance(refusal(404, HTML), Malformed)
    assert isinstance(refusal(404, HTML, kind=Kind.WRITE), Refused)


def test_nothing_is_gone_where_nothing_was_asked_about() -> None:
    assert isinstance(refusal(400, envelope("IMAGE_NOT_FOUND"), subject="", kind=Kind.CREATE), Refused)
    assert isinstance(refusal(404, envelope("X"), subject="", kind=Kind.CREATE), Refused)


@pytest.mark.parametrize("reason", ["INSUFFICIENT_RESOURCE", "MIGRATE_INSUFFICIENT_RESOURCE"])
def test_no_stock_is_no_capacity(reason: str) -> None:
    assert isinstance(refusal(400, envelope(reason)), NoCapacity)


@pytest.mark.parametrize(
    "body", [envelope("", "invalid state change"), envelope("INVALID_STATE_CHANGE", "x")]
)
def test_a_wrong_state_is_known_by_message_or_reason(body: object) -> None:
    assert isinstance(refusal(400, body), InvalidState)


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        (400, "BALANCE_NOT_ENOUGH", RefusalReason.BALANCE),
        (403, "NOT_ENOUGH_BALANCE", RefusalReason.BALANCE),
        (402, "", RefusalReason.BALANCE),
        (400, "CREATE_GPU_NUM_LIMIT", RefusalReason.QUOTA),
        (400, "IMAGE_NOT_FOUND", RefusalReason.IMAGE),
        (400, "IMAGE_URL_OR_AUTH_ERROR", RefusalReason.REGISTRY),
        (400, "VALIDATOR_PARAM", RefusalReason.VALIDATION),
        (400, "CUDA_VERSION_INCOMPATIBLE", RefusalReason.PLACEMENT),
        (400, "SERVERLESS_PRODUCT_NOT_FOUND", RefusalReason.PLACEMENT),
        (400, "NETWORK_STORAGE_TOO_LARGE", RefusalReason.STORAGE),
        (400, "PREPAID_INSTANCE_NOT_SUPPORT_RELEASE", RefusalReason.SUBSCRIPTION),
        (403, "BANNED_USER", RefusalReason.FORBIDDEN),
        (403, "", RefusalReason.FORBIDDEN),
        (409, "", RefusalReason.CONFLICT),
        (400, "SOMETHING_NEW", RefusalReason.OTHER),
        (302, "", RefusalReason.OTHER),
    ],
)
def test_every_reason_has_its_class(status: int, code: str, reason: RefusalReason) -> None:
    seen = refusal(status, envelope(code))
    assert isinstance(seen, Refused)
    assert seen.reason is reason


def test_another_offer_helps_only_against_placement() -> None:
    assert [reason for reason in RefusalReason if reason.may_another_offer_help] == [RefusalReason.PLACEMENT]


def test_secrets_that_the_cloud_quotes_do_not_come_through() -> None:
    said = "bad env TOKEN=hunter2-canary for key sk_abc123 with Bearer sk_def-456"
    assert cleaned(said, ["hunter2-canary", "a"]) == "bad env TOKEN=••• for key ••• with •••"


def test_a_long_explanation_is_cut_and_put_on_one_line() -> None:
    assert cleaned("a\n\n b" + "c" * 1000) == "a b" + "c" * 297


@given(status=st.integers(300, 499), body=st.binary(max_size=80), kind=st.sampled_from(Kind))
def test_any_refusal_becomes_one_of_ours(status: int, body: bytes, kind: Kind) -> None:
    assert isinstance(refusal(status, body, kind=kind), CloudRefusal)
