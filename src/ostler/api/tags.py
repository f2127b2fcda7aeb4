"""`ETag` and `If-None-Match`: who has the answer already is told 304 and nothing else.

Our tags are weak: an answer under the same tag means the same, though the age of what it shows goes on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Depends, Header, Request
from starlette.responses import Response

_ETAG = {"schema": {"type": "string"}, "description": "send it as `If-None-Match`"}
_UNCHANGED = "What was asked is as it was under one of the tags in `If-None-Match`"


def tagged(**more: object) -> dict[int | str, dict[str, object]]:
    """Return what the document says of answers under tags, with more headers of theirs."""
    return {200: {"headers": {"ETag": _ETAG, **more}}, 304: {"description": _UNCHANGED}}


def tag_headers(tag: str) -> dict[str, str]:
    """Return the headers of an answer under a tag; whoever keeps it asks again before using it."""
    return {"ETag": f'W/"{tag}"', "Cache-Control": "private, no-cache"}


def unchanged(tag: str) -> Response:
    """Return the answer for who has it already."""
    return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=tag_headers(tag))


@dataclass(frozen=True, slots=True)
class Tags:
    """The tags of the answers that somebody has."""

    named: frozenset[str] = frozenset()
    is_any: bool = False  # `*`: whatever there is

    def __contains__(self, tag: object) -> bool:
        return self.is_any or tag in self.named


def tags_in(if_none_match: Iterable[str]) -> Tags:
    """Return the tags that the lines of a header name."""
    words = [word.strip() for line in if_none_match for word in line.split(",")]
    named = frozenset(word.removeprefix("W/").strip('"') for word in words if word)
    return Tags(named, is_any="*" in words)


async def _known_tags(request: Request, if_none_match: Annotated[str | None, Header()] = None) -> Tags:
    if if_none_match is None:
        return Tags()
    return tags_in(request.headers.getlist("if-none-match"))  # it may come in several lines


KnownTags = Annotated[Tags, Depends(_known_tags)]
