"""A *refusal*: the pretend cloud's "no", as data.

Raised anywhere in the world or its faces; the server alone turns it into the cloud's error envelope.
`reason` is the UPPER_SNAKE word that clients branch on; `metadata` maps strings to strings, as in the cloud.
"""

from collections.abc import Mapping


class Refusal(Exception):  # noqa: N818 -- the cloud refuses; nothing here is an error of the program
    """The call is answered with an error envelope and changes nothing."""

    def __init__(
        self, status: int, reason: str, message: str, metadata: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.metadata = dict(metadata or {})


def bad_parameter(message: str) -> Refusal:
    """Return the refusal of a parameter, whose message names the field and the value."""
    return Refusal(400, "VALIDATOR_PARAM", message)


def not_found(what: str) -> Refusal:
    """Return the refusal of an instance or path that does not exist."""
    return Refusal(404, "RESOURCE_NOT_FOUND", f"{what} not found")


def missing(what: str) -> Refusal:
    """Return the refusal that the cloud gives for templates, networks and endpoints: not found as a 400."""
    return Refusal(400, "NOT_FOUND", f"{what} not found")


def invalid_state() -> Refusal:
    """Return the refusal of a verb in the wrong status; clients know it by exactly this message."""
    return Refusal(400, "INVALID_STATE_CHANGE", "invalid state change")


def no_capacity() -> Refusal:
    """Return the refusal of a create or a start when the shelf is empty."""
    return Refusal(400, "INSUFFICIENT_RESOURCE", "insufficient resource")


def no_capacity_to_migrate() -> Refusal:
    """Return the refusal of a migration when no other node is free."""
    return Refusal(400, "MIGRATE_INSUFFICIENT_RESOURCE", "insufficient resource to migrate")


def no_balance() -> Refusal:
    """Return the refusal of whatever would cost money when there is none."""
    return Refusal(400, "BALANCE_NOT_ENOUGH", "Insufficient balance")


def term_over() -> Refusal:
    """Return the refusal to run what was paid in advance, once that time is over."""
    return Refusal(400, "EXPIRED_OR_BALANCE_NOT_ENOUGH", "expired or insufficient balance")


def over_quota(reason: str, limit: int) -> Refusal:
    """Return the refusal of more than the account may have; the limit fills the console's placeholder."""
    return Refusal(400, reason, f"quota exceeded: {limit}", {"0": str(limit)})


def unauthorized() -> Refusal:
    """Return the refusal of a call without a key, or with one that nobody knows."""
    return Refusal(401, "UNAUTHORIZED", "unauthorized: missing or invalid API key")


def key_refused() -> Refusal:
    """Return the other form in which the cloud refuses a key."""
    return Refusal(403, "INVALID_API_KEY", "invalid api key")
