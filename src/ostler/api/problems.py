"""Problems: every way in which a request can end badly, and the one envelope that tells it.

A *problem* is an HTTP status, a code to branch on, and a message for people. The table below turns classes of
errors into problems; nothing else in Ostler knows HTTP statuses. A stack trace never leaves the process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Annotated

import orjson
from pydantic import AfterValidator
from starlette.responses import Response
from starlette.types import Scope

from ostler.api.model import Answer, in_utc
from ostler.domain.fields import cut, shown

PROBLEM = "problem"  # in a request's state: the code of why it was refused
_MOST_SAID = 10  # wrong fields in one sentence
MOST_TOLD = 150  # in the list: more than any honest request can have


class WrongField(Answer):
    """One field that cannot be used as it is."""

    field: Annotated[str, AfterValidator(cut)]
    code: str
    message: str
    value: Annotated[object, AfterValidator(shown)] = None


class ProblemDetail(Answer):
    """What went wrong."""

    code: str
    message: str
    details: Mapping[str, object] = {}
    timestamp: str
    request_id: str
    hint: str | None = None
    validation_errors: list[WrongField] | None = None


class ProblemAnswer(Answer):
    """The body of every answer that is not a success."""

    error: ProblemDetail


@dataclass(frozen=True, slots=True)
class Problem:
    """A refusal before it is dressed for one request."""

    status: int
    code: str
    message: str
    details: Mapping[str, object] = field(default_factory=dict)
    hint: str | None = None
    wrong_fields: Sequence[WrongField] = ()
    headers: Mapping[str, str] = field(default_factory=dict)


class RequestRefused(Exception):  # noqa: N818 -- the request is refused; Ostler did not err
    """Raised by routes for what only the HTTP layer can know."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def validation_problem(wrong: Sequence[WrongField]) -> Problem:
    """Return the problem that lists every wrong field at once, up to any honest number."""
    message = "; ".join(f"{cut(each.field)}: {each.message}" for each in wrong[:_MOST_SAID])
    if len(wrong) > _MOST_SAID:
        message += f"; and {len(wrong) - _MOST_SAID} more"
    return Problem(HTTPStatus.BAD_REQUEST, "VALIDATION_ERROR", message, wrong_fields=wrong[:MOST_TOLD])


def problem_answer(problem: Problem, scope: Scope, at: datetime) -> Response:
    """Return the answer that tells a problem to a request, and note there what it was."""
    scope["state"][PROBLEM] = problem.code
    return problem_response(problem, scope["state"]["request_id"], at)


def problem_response(problem: Problem, request_id: str, at: datetime) -> Response:
    """Return the answer that tells a problem."""
    answer = ProblemAnswer(
        error=ProblemDetail(
            code=problem.code,
            message=problem.message,
            details=problem.details,
            timestamp=in_utc(at),
            request_id=request_id,
            hint=problem.hint,
            validation_errors=list(problem.wrong_fields) or None,
        )
    )
    body = answer.model_dump(mode="json", by_alias=True, exclude_none=True)
    for told, wrong in zip(body["error"].get("validationErrors", ()), problem.wrong_fields, strict=False):
        told.setdefault("value", wrong.value)  # a null that was sent is told as null
    return Response(
        orjson.dumps(body),
        status_code=problem.status,
        media_type="application/json",
        headers=dict(problem.headers),
    )
