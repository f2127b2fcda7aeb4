"""What events tell of a round of health checks: each endpoint's result, as details show it.

The event is written with the change that the round made, so webhooks and the feed carry what led to it.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from ostler.domain.readiness import EndpointHealth, overall


def health_told(health: Sequence[EndpointHealth], at: datetime) -> Mapping[str, object]:
    """Return the details of the events that follow from a round."""
    found = overall(health).value
    said = {"overall": found, "endpoints": [_endpoint(each) for each in health], "checkedAt": _instant(at)}
    return {"overall": found, "healthCheck": said}


def _endpoint(each: EndpointHealth) -> Mapping[str, object]:
    return {
        "port": each.port,
        "endpoint": each.endpoint,
        "status": "healthy" if each.is_healthy else "unhealthy",
        "responseTimeMs": each.response_time_ms,
        "lastChecked": _instant(each.last_checked),
        "statusCode": each.status_code,
        "errorCategory": None if each.error_category is None else each.error_category.value,
        "message": each.message or None,
    }


def _instant(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
