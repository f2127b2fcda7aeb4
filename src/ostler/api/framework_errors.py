"""What the web framework itself refuses, in our words: unknown paths, wrong methods, unreadable input.

Classes of our own stand in error_table.py.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic.alias_generators import to_camel, to_snake
from starlette.exceptions import HTTPException
from starlette.requests import Request

from ostler.api.bodies import too_large
from ostler.api.problems import MOST_TOLD, Problem, WrongField, validation_problem
from ostler.domain.fields import cut, may_be_secret

_SPECIAL_CODES = {
    "extra_forbidden": "UNKNOWN_FIELD",
    "missing": "MISSING_FIELD",
    "json_invalid": "MALFORMED_JSON",
}


def refused_by_framework(request: Request, error: HTTPException) -> Problem:
    """Return the problem behind an HTTP error of the framework."""
    match error.status_code:
        case HTTPStatus.NOT_FOUND:
            return Problem(
                404,
                "NOT_FOUND",
                f"There is nothing at {cut(request.url.path)}.",
                hint="/docs lists the routes",
            )
        case HTTPStatus.METHOD_NOT_ALLOWED:
            allowed = ", ".join(_methods_of(request))
            message = f"{request.method} is not possible at {cut(request.url.path)}; allowed: {allowed}."
            return Problem(
                405, "METHOD_NOT_ALLOWED", message, {"allowed": allowed}, headers={"Allow": allowed}
            )
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return too_large(request.url.path)
        case HTTPStatus.BAD_REQUEST:
            field = WrongField(field="body", code="MALFORMED_JSON", message="cannot be read as JSON in UTF-8")
            return validation_problem([field])
        case status:
            return Problem(status, HTTPStatus(status).name, str(error.detail))


def wrong_input(error: RequestValidationError) -> Problem:
    """Return the problem that lists the fields of the input that cannot be used."""
    return validation_problem([_wrong_field(each) for each in error.errors()[:MOST_TOLD]])


def _wrong_field(found: Mapping[str, object]) -> WrongField:
    kind = str(found["type"])
    place = found["loc"]
    parts = [str(each) for each in place] if isinstance(place, tuple) else []
    if parts[:1] == ["path"]:  # the parameters of a path have our names; all else is told in camelCase
        parts = [parts[0], *(to_camel(each) for each in parts[1:])]
    if parts[:1] == ["query"]:  # a parameter that is given several times has no numbers
        parts = [each for each in parts if not each.isdecimal()]
    name = "body" if kind == "json_invalid" else ".".join(parts[1:]) or parts[0]
    code = _SPECIAL_CODES.get(kind) or f"INVALID_{to_snake(_name(parts)).upper()}"
    value = None if kind == "missing" or may_be_secret(name) else found.get("input")
    return WrongField(field=name, code=code, message=_message(kind, found), value=value)


def _name(place: list[str]) -> str:
    """Return the name of a field, or of the one that holds it when it is an item of a list."""
    return next((part for part in reversed(place) if not part.isdecimal()), place[-1])


def _message(kind: str, found: Mapping[str, object]) -> str:
    context = found.get("ctx")
    match kind:
        case "extra_forbidden":
            return "is not a known field"
        case "missing":
            return "is required"
        case "json_invalid":
            detail = context.get("error", "") if isinstance(context, Mapping) else ""
            return f"is not valid JSON: {detail}"
        case "value_error":
            return str(context["error"]) if isinstance(context, Mapping) else str(found["msg"])
        case _:
            return str(found["msg"])


def _methods_of(request: Request) -> Iterable[str]:
    """Return what is possible at a path, by all its routes; the framework would name the first one's only.

    `/api/instances/start` could be an instance's id, too: the path with the fewest parameters is meant.
    """
    own: Iterable[object] = request.app.state.own_routes
    path = request.url.path
    fitting = [each for each in own if isinstance(each, APIRoute) and each.path_regex.match(path)]
    fewest = min((len(route.param_convertors) for route in fitting), default=0)
    exact = (route.methods or set() for route in fitting if len(route.param_convertors) == fewest)
    methods = set[str]().union(*exact)
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)
