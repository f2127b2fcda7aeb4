"""The table: which class of error is which problem. The only place that joins our errors to HTTP statuses.

A row is looked up by the error's class, then by its parents. A class without a row ends as a 500.
"""

import math
from collections.abc import Callable, Mapping
from datetime import datetime
from http import HTTPStatus

from ostler.api.model import in_utc
from ostler.api.problems import Problem, WrongField, validation_problem
from ostler.cloud.refusals import (
    CircuitOpen,
    CloudRefusal,
    Queued,
    RateLimited,
    Silenced,
    TimedOut,
    Unauthorized,
    Unavailable,
)
from ostler.domain.errors import (
    AskedWrongly,
    FixedBySetting,
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    InstanceTerminated,
    Missing,
    NameAmbiguous,
    NoOfferAnywhere,
    NotAllowed,
    NotAuthenticated,
    NotOurs,
    OutsideProject,
    OverBudget,
    RequestInvalid,
    TemplateUnusable,
    TooManyRequests,
    VerbRefused,
)
from ostler.store.database import StoreUnavailable
from ostler.usecases.market import CatalogueUnknown

Translation = Callable[[Exception, datetime], Problem]

_ASK_AGAIN_S = 5
_COMES_AGAIN = (TooManyRequests, IdempotencyKeyInUse)

ASKED_WRONGLY: Mapping[type[AskedWrongly], HTTPStatus] = {
    NotAuthenticated: HTTPStatus.UNAUTHORIZED,
    NotAllowed: HTTPStatus.FORBIDDEN,
    OutsideProject: HTTPStatus.FORBIDDEN,
    NotOurs: HTTPStatus.FORBIDDEN,
    TooManyRequests: HTTPStatus.TOO_MANY_REQUESTS,
    Missing: HTTPStatus.NOT_FOUND,
    NoOfferAnywhere: HTTPStatus.NOT_FOUND,
    TemplateUnusable: HTTPStatus.UNPROCESSABLE_ENTITY,
    VerbRefused: HTTPStatus.CONFLICT,
    InstanceTerminated: HTTPStatus.CONFLICT,
    FixedBySetting: HTTPStatus.CONFLICT,
    NameAmbiguous: HTTPStatus.CONFLICT,
    OverBudget: HTTPStatus.CONFLICT,
    IdempotencyKeyInUse: HTTPStatus.CONFLICT,
    IdempotencyKeyReused: HTTPStatus.UNPROCESSABLE_ENTITY,
}


def translations() -> Mapping[type[Exception], Translation]:
    """Return the table; every key is handled, with its subclasses."""
    return {
        AskedWrongly: _asked_wrongly_now,
        CloudRefusal: _cloud_refusal,
        CatalogueUnknown: _catalogue_unknown,
        StoreUnavailable: _store_unavailable_now,
    }


def asked_wrongly(error: AskedWrongly) -> Problem:
    """Return the problem of what a caller asked wrongly, for layers that refuse before any route."""
    if isinstance(error, RequestInvalid):
        return _invalid(error)
    return Problem(
        ASKED_WRONGLY[type(error)],
        error.error_code,
        str(error),
        details=error.details,
        hint=error.hint or None,
        headers=_retry_after(error.retry_after_s) if isinstance(error, _COMES_AGAIN) else {},
    )


def _asked_wrongly_now(error: Exception, now: datetime) -> Problem:  # noqa: ARG001 -- a row of the table
    assert isinstance(error, AskedWrongly)
    return asked_wrongly(error)


def _invalid(error: RequestInvalid) -> Problem:
    return validation_problem(
        [
            WrongField(field=each.field, code=each.code, message=each.message, value=each.value)
            for each in error.errors
        ]
    )


def _catalogue_unknown(error: Exception, now: datetime) -> Problem:  # noqa: ARG001 -- a row of the table
    assert isinstance(error, CatalogueUnknown)
    is_open = isinstance(error.__cause__, CircuitOpen)
    code = "CIRCUIT_BREAKER_OPEN" if is_open else "NOVITA_API_ERROR"
    headers = _retry_after(error.retry_after_s)
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, code, f"{error}.", {"what": error.what}, headers=headers)


def _store_unavailable_now(error: Exception, now: datetime) -> Problem:  # noqa: ARG001 -- a row of the table
    assert isinstance(error, StoreUnavailable)
    return store_unavailable(error)


def store_unavailable(error: StoreUnavailable) -> Problem:
    """Return the problem of a database that cannot be used, for layers around the routes."""
    message = f"The database cannot be used now: {error.trouble}. Nothing was changed that is not shown."
    headers = _retry_after(_ASK_AGAIN_S)
    return Problem(HTTPStatus.SERVICE_UNAVAILABLE, "STORE_UNAVAILABLE", message, headers=headers)


def _cloud_refusal(error: Exception, now: datetime) -> Problem:
    match error:
        case CircuitOpen():
            return Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "CIRCUIT_BREAKER_OPEN",
                "The cloud has failed repeatedly and is not being asked just now.",
                details={"nextTryAt": in_utc(error.next_try_at)},
                headers=_retry_after((error.next_try_at - now).total_seconds()),
            )
        case TimedOut() | Queued():
            return Problem(
                HTTPStatus.GATEWAY_TIMEOUT,
                "REQUEST_TIMEOUT",
                f"{error}.",
                details={"operation": error.operation},
                headers=_retry_after(error.retry_after_s or _ASK_AGAIN_S),
            )
        case Silenced():
            return Problem(
                HTTPStatus.SERVICE_UNAVAILABLE,
                "NOVITA_API_ERROR",
                f"{error}.",
                details={"operation": error.operation, "nextTryAt": in_utc(error.until)},
                headers=_retry_after((error.until - now).total_seconds()),
            )
        case Unauthorized():
            hint = "check NOVITA_API_KEY; `ostler doctor` tells whether the cloud accepts it"
            return _cloud_error(error, hint=hint)
        case RateLimited():
            return _cloud_error(error, headers=_retry_after(error.retry_after_s or _ASK_AGAIN_S))
        case Unavailable():
            return _cloud_error(error, headers=_retry_after(_ASK_AGAIN_S))
        case _:
            return _cloud_error(error)


def _cloud_error(
    error: Exception, hint: str | None = None, headers: Mapping[str, str] | None = None
) -> Problem:
    operation = error.operation if isinstance(error, CloudRefusal) else ""
    return Problem(
        HTTPStatus.BAD_GATEWAY,
        "NOVITA_API_ERROR",
        f"{error}.",
        details={"operation": operation},
        hint=hint,
        headers=headers or {},
    )


def _retry_after(seconds: float) -> Mapping[str, str]:
    return {"Retry-After": str(max(1, math.ceil(seconds)))}
