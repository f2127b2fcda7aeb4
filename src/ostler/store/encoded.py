"""A column type for values that are read and written whole: JSON text there, a domain value here.

The value's own type says what the JSON must be, and pydantic does both ways; nothing in between is untyped.
What is searched for has a column of its own; what is only carried along is encoded.
"""

from functools import cached_property
from typing import TypeVar

from pydantic import TypeAdapter
from sqlalchemy import Dialect, Text
from sqlalchemy.types import TypeDecorator

T = TypeVar("T")


class Encoded(TypeDecorator[T]):
    """`Encoded(Kind)`: a value of `Kind` as JSON text; None is NULL."""

    impl = Text
    cache_ok = True

    def __init__(self, kind: type[T]) -> None:
        super().__init__()
        self.kind = kind

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.kind)

    def process_bind_param(self, value: T | None, dialect: Dialect) -> str | None:  # noqa: ARG002 (SQLAlchemy's signature)
        return None if value is None else self._adapter.dump_json(value).decode()

    def process_result_value(self, value: str | None, dialect: Dialect) -> T | None:  # noqa: ARG002 (SQLAlchemy's signature)
        return None if value is None else self._adapter.validate_json(value)
