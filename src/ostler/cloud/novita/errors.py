"""Turning the cloud's refusals into ours: by status and by the `reason` of the error envelope.

The envelope is `{code, reason, message, metadata}`, but `{message}`, `{error}`, plain text and nothing at all
occur too. Two meanings are only found in the message, because the cloud gives them no reason: an invalid
state change, and "not found" as a 400. Nothing else branches on a text.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ostler.cloud.novita import wire
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

_LONGEST_SAID = 300
_SHORTEST_SECRET = 4  # shorter ones are no secrets, and their letters are everywhere
_KEY = re.compile(r"\bsk_[\w-]+|\bBearer\s+\S+", re.ASCII)

_NO_CAPACITY = frozenset({"INSUFFICIENT_RESOURCE", "MIGRATE_INSUFFICIENT_RESOURCE"})
_BAD_KEY = frozenset({"UNAUTHORIZED", "MISSING_API_KEY", "INVALID_API_KEY", "FAILED_TO_AUTH"})
_UNKNOWN_PATH = "API_NOT_FOUND"
_WRONG_STATE = "INVALID_STATE_CHANGE"
_WRONG_STATE_MESSAGE = "invalid state change"

_CODES: Mapping[RefusalReason, Sequence[str]] = {
    RefusalReason.BALANCE: (
        "BALANCE_NOT_ENOUGH",
        "EXPIRED_OR_BALANCE_NOT_ENOUGH",
        "BUDGET_NOT_ENOUGH",
        "NOT_ENOUGH_BUDGET",
        "MEMBER_BUDGET_NOT_ENOUGH",
        "NOT_ENOUGH_BALANCE",
        "BILLING_BALANCE_NOT_ENOUGH",
    ),
    RefusalReason.QUOTA: (
        "CREATE_GPU_NUM_LIMIT",
        "CREATE_INSTANCE_LIMIT",
        "OPERATION_LIMIT",
        "IMAGE_PREWARM_NUM_LIMIT",
    ),
    RefusalReason.IMAGE: (
        "IMAGE_NOT_FOUND",
        "IMAGE_TOO_LARGE",
        "IMAGE_AUTH_IN_USE",
    ),
    RefusalReason.REGISTRY: ("IMAGE_URL_OR_AUTH_ERROR",),
    RefusalReason.VALIDATION: (
        "VALIDATOR_PARAM",
        "VALIDATOR",
        "INVALID_PARAMS",
        "ILLEGAL_PARAMETERS",
        "INVALID_REQUEST_BODY",
        "INVALID_COMMAND_PARAM",
    ),
    RefusalReason.PLACEMENT: (
        "CUDA_VERSION_INCOMPATIBLE",
        "CLUSTER_STATUS",
        "NODE_STATUS",
        "DEPENDENT_RESOURCE_STATE",
        "SERVERLESS_PRODUCT_NOT_FOUND",
        "INSTANCE_LOCAL_STORAGE_NOT_FOUND",
    ),
    RefusalReason.STORAGE: (
        "NETWORK_STORAGE_TOO_LARGE",
        "NETWORK_STORAGE_IN_USE",
        "NETWORK_STORAGE_UNAVAILABLE",
        "CUR_CLUSTER_NETWORK_STORAGE_NOT_SUPPORT",
    ),
    RefusalReason.SUBSCRIPTION: (
        "UNSUPPORTED_BILLING_MODE",
        "PREPAID_INSTANCE_NOT_SUPPORT_RELEASE",
        "CREATING_INSTANCE_NOT_SUPPORT_RENEWAL",
    ),
    RefusalReason.FORBIDDEN: ("FORBIDDEN", "NO_PERMISSION", "BANNED_USER"),
    RefusalReason.CONFLICT: ("CONFLICT", "MIGRATION_JOB_NOT_BREAKABLE"),
}
_REASONS = {code: reason for reason, codes in _CODES.items() for code in codes}
_REASONS_BY_STATUS = {
    402: RefusalReason.BALANCE,
    403: RefusalReason.FORBIDDEN,
    409: RefusalReason.CONFLICT,
}


@dataclass(frozen=True, slots=True)
class Envelope:
    """What an error body says."""

    code: str  # the cloud's reason, in its words
    said: str
    is_json: bool  # a page of a gateway is not the cloud's word


def envelope_of(body: bytes) -> Envelope:
    """Read an error body in any of its forms; it never fails."""
    try:
        said = wire.document(body)
    except wire.Unreadable:
        return Envelope("", _plain_words(body), is_json=False)
    if not isinstance(said, dict):
        return Envelope("", "" if said is None else str(said), is_json=said is None)
    code = said.get("reason")
    code = code if isinstance(code, str) else ""
    words = (said.get("message"), said.get("error"), code)
    first = next((word for word in words if isinstance(word, str) and word), "")
    return Envelope(code, first, is_json=True)


def _plain_words(body: bytes) -> str:
    """Return a text as it is; the wreck of an envelope and the page of a gateway are no words."""
    text = body[:_LONGEST_SAID].decode("utf-8", "replace").strip()
    return "its answer cannot be read" if text.startswith(("{", "[", "<")) else text


def refusal_of(request: Request, reply: Reply, subject: str, secrets: Sequence[str] = ()) -> CloudRefusal:
    """Return what an answer from 300 to 499 means; `subject` is what the call was about, if it exists."""
    envelope = envelope_of(reply.body)
    operation = request.operation
    if reply.status == 401 or envelope.code in _BAD_KEY:  # noqa: PLR2004 -- the status says it best
        return Unauthorized(operation)
    if envelope.code in _NO_CAPACITY:
        return NoCapacity(operation)
    if _is_wrong_state(envelope):
        return InvalidState(operation)
    said = cleaned(envelope.said, secrets)
    if envelope.code in _REASONS:
        return Refused(operation, _REASONS[envelope.code], envelope.code, said)
    if reply.status == 404 and not envelope.is_json and request.kind is Kind.READ:  # noqa: PLR2004 -- as above
        return Malformed(operation, "body", "a 404 that is not the cloud's")
    if subject and _says_not_found(reply.status, envelope):
        return Gone(operation, subject, reply.began_at)
    reason = _REASONS_BY_STATUS.get(reply.status, RefusalReason.OTHER)
    return Refused(operation, reason, envelope.code or f"HTTP_{reply.status}", said)


def cleaned(said: str, secrets: Sequence[str] = ()) -> str:
    """Return the cloud's words in one short line, without anything that was secret in the request."""
    for hidden in sorted(secrets, key=len, reverse=True):
        if len(hidden) >= _SHORTEST_SECRET:
            said = said.replace(hidden, "•••")
    return _KEY.sub("•••", " ".join(said.split()))[:_LONGEST_SAID]


def _is_wrong_state(envelope: Envelope) -> bool:
    return envelope.code == _WRONG_STATE or envelope.said.strip().casefold() == _WRONG_STATE_MESSAGE


def _says_not_found(status: int, envelope: Envelope) -> bool:
    if not envelope.is_json or envelope.code == _UNKNOWN_PATH:
        return False
    if status == 404:  # noqa: PLR2004 -- the status says it best
        return True
    # NOT_FOUNT is how the cloud spells it somewhere
    return (
        status == 400  # noqa: PLR2004 -- as above
        and ("NOT_FOUN" in envelope.code or "not found" in envelope.said.casefold())
    )
