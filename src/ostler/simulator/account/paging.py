"""Cutting a list into pages, in the two ways of the cloud.

v1 counts pages, and its first page is both 0 and 1. v2 hands out an opaque *cursor*: the place after the last
row of a page, which stays good when rows before it are removed.
"""

import base64
import binascii
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ostler.simulator.account.fields import Fields
from ostler.simulator.refusal import bad_parameter

Row = TypeVar("Row")

DEFAULT_PAGE_SIZE = 10
DEFAULT_LIMIT = 20
LARGEST_LIMIT = 100
CURSOR_LENGTH = (0, 1024)
_AFTER = "after:"  # by which a cursor is known to be ours


def numbered_page(rows: Sequence[Row], number: int, size: int) -> Sequence[Row]:
    """Return the rows of a page; a size of 0 means the default."""
    per_page = size or DEFAULT_PAGE_SIZE
    first = max(number - 1, 0) * per_page
    return rows[first : first + per_page]


@dataclass(frozen=True, slots=True)
class CursorPage(Generic[Row]):
    """Some rows, and where to go on."""

    rows: Sequence[Row]
    next_cursor: str
    total: int

    @property
    def has_more(self) -> bool:
        """Whether another page follows."""
        return self.next_cursor != ""


def cursor_page(
    rows: Sequence[Row], place_of: Callable[[Row], str], *, limit: int, cursor: str
) -> CursorPage[Row]:
    """Return the rows after the cursor; they must be sorted by their place, which names each row once."""
    after = bisect_right(rows, _place(cursor), key=place_of) if cursor else 0
    before = after + (min(limit, LARGEST_LIMIT) or DEFAULT_LIMIT)
    found = rows[after:before]
    more = before < len(rows)
    return CursorPage(found, _cursor(place_of(found[-1])) if more else "", len(rows))


def _cursor(place: str) -> str:
    return base64.urlsafe_b64encode(f"{_AFTER}{place}".encode()).decode()


def _place(cursor: str) -> str:
    try:
        after = base64.b64decode(cursor.encode(), altchars=b"-_", validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise bad_parameter(message=f"invalid cursor: {cursor!r}") from error
    if not after.startswith(_AFTER):
        raise bad_parameter(message=f"invalid cursor: {cursor!r}")
    return after.removeprefix(_AFTER)


def asked_page(rows: Sequence[Row], place_of: Callable[[Row], str], query: Fields) -> CursorPage[Row]:
    """Return the page that a v2 query asks for by `limit` and `cursor`."""
    return cursor_page(
        rows, place_of, limit=query.number("limit"), cursor=query.text("cursor", CURSOR_LENGTH)
    )


def page_json(page: CursorPage[Row], row_json: Callable[[Row], object]) -> dict[str, object]:
    """Return the envelope of a v2 list."""
    return {
        "data": [row_json(row) for row in page.rows],
        "next_cursor": page.next_cursor,
        "has_more": page.has_more,
        "total": page.total,
    }


class Dated(Protocol):
    """A row that is listed by its age."""

    @property
    def id(self) -> str: ...
    @property
    def created_at(self) -> float: ...


def age_place(row: Dated) -> str:
    """Return the place of a row in a list from old to new; text that sorts as the pair of age and id."""
    return f"{row.created_at:020.6f}/{row.id}"
