"""How our JSON looks: camelCase outside, our own names inside, instants in UTC with a Z, money as numbers.

Models for bodies and queries refuse unknown fields by name; models for answers are exact.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated

from annotated_types import Ge, Le
from fastapi import Query
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    PlainSerializer,
)
from pydantic.alias_generators import to_camel

_DATE = re.compile(r"\d{4}-\d\d-\d\d[Tt ]", re.ASCII)


class Answer(BaseModel):
    """What a route answers."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, frozen=True)


class Question(BaseModel):
    """What a route is asked, in a body or a query."""

    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True)


class NothingAsked(Question):
    """The query of a route that knows no words."""


async def asks_nothing(question: Annotated[NothingAsked, Query()]) -> None:
    """Refuse a query, which would be passed over unsaid (a dependency of routes that have none)."""


def in_utc(instant: datetime) -> str:
    """Return the instant as people and programs of the web write it: UTC, milliseconds, Z."""
    return instant.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_instant(value: object) -> object:
    """Let through what begins like an instant; a number would be taken for seconds, also as text."""
    if value is None or (isinstance(value, str) and _DATE.match(value)):
        return value
    msg = "must be an instant as text, such as 2026-01-31T12:00:00Z"
    raise ValueError(msg)


def _ours(instant: datetime) -> datetime:
    try:
        return instant.astimezone(UTC)
    except OverflowError as error:
        msg = "must be an instant between the years 1 and 9999 in UTC"
        raise ValueError(msg) from error


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a text: as a pattern for programs, and in words for whoever gets it wrong."""

    pattern: str
    allowed: str

    def judged(self, text: str) -> str:
        """Return a text that has the form."""
        if re.fullmatch(self.pattern, text) is None:
            msg = f"must be {self.allowed}"
            raise ValueError(msg)
        return text

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> object:
        described = Field(json_schema_extra={"pattern": self.pattern})
        return handler(Annotated[source, described, AfterValidator(self.judged)])


# an id of whatever kind; what looks like one and is none is not found
Identifier = Annotated[
    str, Form(r"^[A-Za-z0-9_-]{1,100}$", "an id: letters, digits, `-` and `_`, at most 100 of them")
]
# what the database can hold; no row has such a number
MOST_ROWS = 2**63 - 1
RowNumber = Annotated[int, Ge(0), Le(MOST_ROWS)]
GivenInstant = Annotated[AwareDatetime, BeforeValidator(_is_instant), AfterValidator(_ours)]
Instant = Annotated[datetime, PlainSerializer(in_utc, return_type=str)]
# exact within: a price has at most five decimals, which a JSON number carries unharmed
Dollars = Annotated[Decimal, PlainSerializer(float, return_type=float)]
