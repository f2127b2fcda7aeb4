"""Answers about instances, drawn once and given often: their JSON as bytes, and how to give it again.

Of one instance, what time alone moves (its age, its cost) is drawn anew each time and put at the end. Used by
`instances.py`; whether an answer still holds is the use case's word.
"""

from dataclasses import dataclass

import orjson
from starlette.responses import Response

from ostler.api.model import Answer
from ostler.api.remembered import Again
from ostler.api.routes.instance_answers import InstanceSummary, age_of, details_of, summary_of
from ostler.api.routes.stranger_answers import stranger_of
from ostler.api.tags import Tags, tag_headers, unchanged
from ostler.store.instance_lists import PageWish
from ostler.usecases.reading import Details, ListPage, Reading

_JSON = "application/json"
_UNITS_PER_CENT = 1000
_MOVED_BY_TIME = {"age_seconds", "cost_so_far"}


class ListAnswer(Answer):
    """One page of instances, newest first."""

    instances: list[InstanceSummary]
    total: int
    limit: int
    offset: int
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class DrawnDetails:
    """One instance; `still` is its JSON without the end, `still_tag` the tag of that."""

    still: bytes
    still_tag: str

    def answer(self, found: Details, known_tags: Tags) -> Response:
        """Return details as of their instant, unless they are what the asker has."""
        cost = found.cost_so_far
        tag = f"{self.still_tag}-{cost.units // _UNITS_PER_CENT}"  # less than a cent is no news
        if tag in known_tags:
            return unchanged(tag)
        moving = orjson.dumps({"ageSeconds": age_of(found), "costSoFar": float(cost.amount)})
        return Response(self.still + moving[1:], media_type=_JSON, headers=tag_headers(tag))


def drawn_details(found: Details) -> DrawnDetails:
    """Draw an instance."""
    still = details_of(found).model_dump_json(by_alias=True, exclude=_MOVED_BY_TIME)
    return DrawnDetails(still[:-1].encode() + b",", found.still_tag)


def details_again(drawn: DrawnDetails, found: Details, reading: Reading) -> Again:
    """Return how to give details again."""

    def answer(known_tags: Tags) -> Response | None:
        again = reading.details_again(found)
        return None if again is None else drawn.answer(again, known_tags)

    return Again(answer, len(drawn.still))


@dataclass(frozen=True, slots=True)
class DrawnList:
    """One page."""

    body: bytes
    tag: str
    total: int

    def answer(self, known_tags: Tags) -> Response:
        """Return the page, unless it is what the asker has."""
        if self.tag in known_tags:
            return unchanged(self.tag)
        headers = tag_headers(self.tag) | {"X-Total-Count": str(self.total)}
        return Response(self.body, media_type=_JSON, headers=headers)


def drawn_list(found: ListPage, wish: PageWish) -> DrawnList:
    """Draw a page."""
    page = found.page
    assert page is not None
    rows = [summary_of(each, found.picture) for each in page.instances]
    strangers = [stranger_of(each, found.picture) for each in page.strangers]
    answer = ListAnswer(
        instances=rows + strangers,
        total=page.total,
        limit=wish.limit,
        offset=wish.offset,
        next_cursor=page.next_cursor,
    )
    return DrawnList(answer.model_dump_json(by_alias=True).encode(), found.tag, page.total)


def list_again(drawn: DrawnList, heading: ListPage, reading: Reading) -> Again:
    """Return how to give a page again."""

    def answer(known_tags: Tags) -> Response | None:
        return drawn.answer(known_tags) if reading.is_page_as_it_was(heading) else None

    return Again(answer, len(drawn.body))
