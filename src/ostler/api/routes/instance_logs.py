"""`/api/instances/{id}/logs`: what an instance writes, as plain text, passed on from the cloud.

This read waits for the cloud, which alone has the logs; with `follow` it goes on until either side leaves.
"""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import StreamingResponse

from ostler.api.backing import WithLogs
from ostler.api.exchange import Exchange
from ostler.api.model import Identifier, Question
from ostler.cloud.log_reader import LogWish
from ostler.usecases.instance_logs import Log

router = APIRouter(prefix="/api/instances", tags=["instances"])
_MOST_LINES = 10_000
_TEXT = "text/plain; charset=utf-8"


class LogsQuestion(Question):
    """Which log, and what of it."""

    log: Log = Field(Log.INSTANCE, description="`instance`: of the application; `system`: of the cloud")
    tail: int = Field(100, ge=0, le=_MOST_LINES, description="how many of the last lines")
    follow: bool = Field(default=False, description="go on with the lines to come")


@router.get(
    "/{instance_id}/logs",
    summary="What an instance writes",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def logs(
    instance_id: Identifier, on: Exchange, question: Annotated[LogsQuestion, Query()], reading: WithLogs
) -> StreamingResponse:
    wish = LogWish(question.tail, question.follow)
    pieces = await reading.of_instance(instance_id, on.asker, question.log, wish)
    return StreamingResponse(
        pieces,
        media_type=_TEXT,
        headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
    )
