"""A request's body as plain JSON values, for routes whose fields the domain reads and judges itself.

`JsonBody` hands a mapping in; an absent body is an empty one. What is no JSON object is refused. `NoFields`
is for routes that take none: whatever is named is refused by its name.
"""

from collections.abc import Mapping
from typing import Annotated, TypeGuard

import orjson
from fastapi import Depends, Request

from ostler.api.problems import Problem, RequestRefused, WrongField, validation_problem
from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import Fields

FIELDS = "fields"  # in a request's state: the names in its body


async def _json_body(request: Request) -> Mapping[str, object]:
    content = await request.body()
    if not content.strip():
        return {}
    try:
        parsed: object = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        problem = _problem("MALFORMED_JSON", f"is not valid JSON: {error.msg}")
        raise RequestRefused(problem) from error
    if not _is_object(parsed):
        raise RequestRefused(_problem("INVALID_BODY", "must be a JSON object"))
    setattr(request.state, FIELDS, parsed.keys())
    return parsed


JsonBody = Annotated[Mapping[str, object], Depends(_json_body)]


async def _no_fields(body: JsonBody) -> None:
    fields = Fields(body)
    fields.refuse_unknown(())
    if fields.errors:
        raise RequestInvalid(fields.errors)


NoFields = Annotated[None, Depends(_no_fields)]


def _is_object(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, dict)


def _problem(code: str, message: str) -> Problem:
    return validation_problem([WrongField(field="body", code=code, message=message)])
