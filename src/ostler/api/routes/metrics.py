"""`/metrics`: what Prometheus scrapes.

Wants a key like every route but health; Prometheus sends one with `authorization: credentials`.
"""

from fastapi import APIRouter
from starlette.responses import Response

from ostler.api.backing import WithBacking
from ostler.telemetry.metrics import CONTENT_TYPE

router = APIRouter(tags=["health"])


class PrometheusText(Response):
    """A text in Prometheus' format."""

    media_type = CONTENT_TYPE


@router.get("/metrics", summary="Metrics in Prometheus' text format", response_class=PrometheusText)
async def metrics(backing: WithBacking) -> Response:
    return PrometheusText(backing.metrics.exposition())
