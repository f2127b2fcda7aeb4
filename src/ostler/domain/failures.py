"""Failures: why something that was accepted came to nothing. A *failure* is kept in rows and shown.

Requests that are refused at once are in `errors.py`; these codes come later, in an operation or as the
`error` of an instance, each with whether asking again may help.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class FailureCode(StrEnum):
    """What went wrong."""

    STARTUP_FAILED = "STARTUP_FAILED"
    STARTUP_TIMEOUT = "STARTUP_TIMEOUT"
    HEALTH_CHECK_FAILED = "HEALTH_CHECK_FAILED"
    HEALTH_CHECK_TIMEOUT = "HEALTH_CHECK_TIMEOUT"
    RESOURCE_CONSTRAINTS = "RESOURCE_CONSTRAINTS"
    NETWORK_ERROR = "NETWORK_ERROR"
    REGISTRY_AUTH_FAILED = "REGISTRY_AUTH_FAILED"
    TEMPLATE_INVALID = "TEMPLATE_INVALID"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    NO_OPTIMAL_PRODUCT = "NO_OPTIMAL_PRODUCT_ANY_REGION"
    REFUSED_BY_CLOUD = "NOVITA_API_ERROR"
    OFFER_MISMATCH = "OFFER_MISMATCH"
    INSTANCE_GONE = "INSTANCE_GONE"
    CREATE_CALLED_OFF = "CREATE_CALLED_OFF"  # stopped by its owner before anything was placed


_RETRYABLE = frozenset(
    {
        FailureCode.STARTUP_FAILED,
        FailureCode.STARTUP_TIMEOUT,
        FailureCode.HEALTH_CHECK_FAILED,
        FailureCode.HEALTH_CHECK_TIMEOUT,
        FailureCode.RESOURCE_CONSTRAINTS,
        FailureCode.NETWORK_ERROR,
        FailureCode.NO_OPTIMAL_PRODUCT,
    }
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why it came to nothing, for people and programs."""

    code: FailureCode
    message: str
    at: datetime
    hint: str = ""
    still_billed: bool = False

    @property
    def is_retryable(self) -> bool:
        """Whether asking for the same again may succeed without a change."""
        return self.code in _RETRYABLE
