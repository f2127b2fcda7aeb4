"""A failure as events and webhooks tell it.

Why an operation failed goes with its event: its instance's own error may be an older one, or none.
"""

from collections.abc import Mapping
from datetime import UTC

from ostler.domain.failures import Failure


def failure_told(failure: Failure) -> Mapping[str, object]:
    """Return what is said of a failure."""
    at = failure.at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "code": failure.code.value,
        "message": failure.message,
        "at": at,
        "hint": failure.hint,
        "retryable": failure.is_retryable,
        "stillBilled": failure.still_billed,
    }
