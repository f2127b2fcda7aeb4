"""The API's document, `/openapi.json`, made to say what the server does.

Beside what the framework knows of the routes: the key, the limits of each key, and our one envelope for every
refusal.
"""

from copy import deepcopy

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from ostler.api.problems import ProblemAnswer
from ostler.api.routes.instance_bodies import documented
from ostler.api.sessions import COOKIE

DESCRIPTION = """Looks after the GPUs you rent on Novita.ai.

Every route but `/health*` wants a key: `Authorization: Bearer <key>`. What a key may do is said by its role
(`viewer`, `operator`, `admin`) and its project; what lies outside the project does not exist for it.
Every answer to a key tells in `RateLimit-*` how many requests it has left; one too many is a 429 that says
in `Retry-After` when to come back.
Errors have one envelope, `error`, with a `code` to branch on and a `requestId` to find in the log."""
_WAYS_IN = {
    "key": {"type": "http", "scheme": "bearer"},
    "session": {
        "type": "apiKey",
        "in": "cookie",
        "name": COOKIE,
        "description": "of who signed in at /login",
    },
}
_HEADERS = {
    name: {"description": text, "schema": {"type": "integer", "minimum": least}}
    for name, text, least in (
        ("RateLimit-Limit", "How many requests the key may make in a window; absent while limits are off", 1),
        ("RateLimit-Remaining", "How many of them are left in this one", 0),
        ("RateLimit-Reset", "In how many seconds the next window begins", 1),
        ("Retry-After", "After so many seconds the request is let in", 1),
    )
}
_ALLOWANCE_HEADERS = {
    name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS if name.startswith("RateLimit-")
}
_REFUSAL = {"application/json": {"schema": {"$ref": "#/components/schemas/ProblemAnswer"}}}
_ONE_TOO_MANY = {
    "description": "The key has used up its requests for now",
    "content": _REFUSAL,
    "headers": {"Retry-After": {"$ref": "#/components/headers/Retry-After"}},
}


def describe(app: FastAPI) -> None:
    """Make the document say what the server does: the ways in, and our one envelope for every refusal."""

    def document() -> dict[str, object]:
        if app.openapi_schema is None:
            app.openapi_schema = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            _correct(app.openapi_schema)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # the way that FastAPI documents


def _correct(document: dict[str, object]) -> None:
    schemas = _part(_part(document, "components"), "schemas")
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    envelope = ProblemAnswer.model_json_schema(ref_template="#/components/schemas/{model}", by_alias=True)
    schemas.update(envelope.pop("$defs"))
    schemas["ProblemAnswer"] = envelope
    schemas.update(documented())
    _part(document, "components")["headers"] = _HEADERS
    _part(document, "components")["securitySchemes"] = _WAYS_IN
    refusal = {"description": "The request was refused; `error.code` says why", "content": _REFUSAL}
    for path, methods in _part(document, "paths").items():
        assert isinstance(methods, dict)
        for method in methods.values():
            _part(method, "responses").pop("422", None)
            _part(method, "responses")["default"] = refusal
            if not path.startswith("/health"):
                method["security"] = [{way: []} for way in _WAYS_IN]
                _tell_limits(_part(method, "responses"))


def _tell_limits(responses: dict[str, object]) -> None:
    responses["429"] = deepcopy(_ONE_TOO_MANY)
    for status, response in responses.items():
        if status.startswith("2") or status == "429":
            assert isinstance(response, dict)
            _part(response, "headers").update(_ALLOWANCE_HEADERS)


def _part(whole: dict[str, object], name: str) -> dict[str, object]:
    part = whole.setdefault(name, {})
    assert isinstance(part, dict)
    return part
