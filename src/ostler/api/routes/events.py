"""`/api/events`: everything that happens, live or as pages of the log.

A client follows the log from `Last-Event-ID` (or from now), unless it asks for a page of it: by `after`,
`limit` or `waitFor`, or because it accepts JSON and no stream. With `waitFor=changed` the page comes as
soon as there is an event. Those who wait cost nothing while nothing happens: one reader serves all of them.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Literal

from fastapi import APIRouter, Header, Query, Request
from pydantic import Field
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from ostler.api.exchange import Exchange
from ostler.api.model import Answer, Identifier, Question, RowNumber
from ostler.api.routes.event_answers import EventAnswer, event_of
from ostler.notify.feed import Feed, FeedFilter, Turn
from ostler.notify.sse import PING_S, sse_message
from ostler.usecases.waiting import Waited

router = APIRouter(prefix="/api/events", tags=["events"])
_STREAM = "text/event-stream"
_JSON = "application/json"
_OF_PAGES = frozenset({"after", "limit", "waitFor"})
_NO_ID = 2**63 - 1


class EventsQuestion(Question):
    """Which events."""

    after: RowNumber | None = Field(None, description="an event's id; 0 is the log's beginning")
    limit: int = Field(100, ge=1, le=500)
    instance_id: Identifier | None = None
    project: str | None = Field(None, max_length=63)
    event: list[str] = Field([], max_length=64, description="names, or beginnings such as `instance.*`")
    wait_for: Literal["changed"] | None = Field(None, description="answer once there is an event")
    timeout_seconds: float = Field(60, ge=0, le=120)


class EventsAnswer(Answer):
    """One page of the log, oldest first."""

    events: list[EventAnswer]
    next_after: int
    waited: Waited | None = None  # how waiting ended
    reset: bool = False  # events are missing before `nextAfter`: read the state anew


@router.get(
    "",
    summary="What happens: a live stream, or a page of the log",
    description="A stream, unless `after`, `limit` or `waitFor` asks for a page, or `Accept` for JSON.",
    response_model=EventsAnswer,
    responses={200: {"content": {_STREAM: {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    on: Exchange,
    question: Annotated[EventsQuestion, Query()],
    last_event_id: Annotated[str | None, Header()] = None,
) -> Response | EventsAnswer:
    wanted = FeedFilter(question.instance_id, on.caller.meant(question.project), tuple(question.event))
    if _is_to_stream(request):
        after = _last_seen(last_event_id) if last_event_id else question.after
        return EventSourceResponse(_messages(on.instances.feed, after, wanted), ping=PING_S)
    feed, after = on.instances.feed, question.after or 0
    if question.wait_for is None:
        return _told(await feed.page(after, question.limit, wanted), None)
    turn = await feed.next_page(after, question.limit, wanted, question.timeout_seconds)
    return _told(turn, Waited.REACHED if turn.events or turn.is_reset else Waited.TIMEOUT)


def _is_to_stream(request: Request) -> bool:
    accepted = request.headers.get("accept", "")
    is_for_a_page = _JSON in accepted or not _OF_PAGES.isdisjoint(request.query_params)
    return _STREAM in accepted or not is_for_a_page


def _last_seen(last_event_id: str) -> int:
    """Return the id after which to go on; what is no id of ours is taken for one of another log."""
    is_id = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) < len(str(_NO_ID))
    return int(last_event_id) if is_id else _NO_ID


def _told(turn: Turn, waited: Waited | None) -> EventsAnswer:
    return EventsAnswer(
        events=[event_of(each) for each in turn.events],
        next_after=turn.next_after,
        waited=waited,
        reset=turn.is_reset,
    )


async def _messages(feed: Feed, after: int | None, wanted: FeedFilter) -> AsyncIterator[ServerSentEvent]:
    async for item in feed.follow(after, wanted):
        yield sse_message(item)
