"""Waiting for an instance over HTTP: the question, and the answer when it is so or the time is over.

Thousands may wait for one change. They are all answered at the same moment; so the answer is read and written
once, and given to each of them.
"""

from pydantic import Field
from starlette.responses import Response

from ostler.api.exchange import ExchangeOf
from ostler.api.model import Question
from ostler.api.routes.instance_answers import InstanceDetails, details_of
from ostler.usecases.asking import ById
from ostler.usecases.waiting import WaitFor, edition_of


class WaitQuestion(Question):
    """What to wait for, and for how long."""

    wait_for: WaitFor | None = Field(None, description="`ready` means usable")
    timeout_seconds: float = Field(60, ge=0, le=120)


async def waited(
    instance_id: str, wait_for: WaitFor, timeout_s: float, on: ExchangeOf
) -> Response | InstanceDetails:
    """Wait, and return the instance as it is then."""
    result = await on.instances.waiting.wait(instance_id, on.asker, wait_for, timeout_s)

    async def drawn() -> InstanceDetails:
        details = await on.instances.reading.details(ById(instance_id), on.asker)
        return details_of(details).model_copy(update={"waited": result.waited})

    async def written() -> bytes:
        return (await drawn()).model_dump_json(by_alias=True).encode()

    if not result.is_news:
        return await drawn()
    key = f"{on.asker} {instance_id} {edition_of(result.row)} {result.waited}"
    return Response((await on.instances.news.get(key, written)).value, media_type="application/json")
