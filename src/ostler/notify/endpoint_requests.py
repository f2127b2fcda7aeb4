"""The request to register an endpoint: `{url, events?, project?, secret?}`, every wrong field told at once.

Nothing is written here and no name is looked up: where a URL leads is checked again at each connection.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import SecretStr

from ostler.cloud.reach import Reach
from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import FieldCode, Fields, cut
from ostler.domain.requests import PROJECT
from ostler.notify.receivers import problem_with_receiver
from ostler.notify.signing import PREFIX, UnusableSecret, is_encoded, weakness_of
from ostler.notify.subscriptions import FILTERS, unknown_filters

_KNOWN = ("url", "events", "project", "secret")
_MOST_FILTERS = 64


@dataclass(frozen=True, slots=True)
class EndpointWish:
    """An endpoint to be; without a secret one is made."""

    url: str
    events: tuple[str, ...] = ()
    project: str | None = None
    secret: SecretStr | None = None


def read_endpoint_wish(body: Mapping[str, object], reach: Reach) -> EndpointWish:
    """Return what a body asks for, or raise RequestInvalid with all that is wrong in it."""
    fields = Fields(body)
    fields.refuse_unknown(_KNOWN)
    wish = EndpointWish(
        url=_url(fields, reach),
        events=_events(fields),
        project=fields.text("project", FieldCode.INVALID_PROJECT, PROJECT),
        secret=_secret(fields),
    )
    if fields.errors:
        raise RequestInvalid(fields.errors)
    return wish


def _url(fields: Fields, reach: Reach) -> str:
    value = fields.raw("url")
    problem = problem_with_receiver(value, reach) if isinstance(value, str) else "is required: a URL"
    if problem is not None:
        fields.wrong("url", FieldCode.INVALID_WEBHOOK_URL, problem)
    return value if isinstance(value, str) else ""


def _events(fields: Fields) -> tuple[str, ...]:
    value = fields.raw("events")
    if value is None:
        return ()
    texts = [each for each in value if isinstance(each, str)] if isinstance(value, list) else []
    if not isinstance(value, list) or len(texts) != len(value) or len(texts) > _MOST_FILTERS:
        fields.wrong("events", FieldCode.INVALID_BODY, f"must be a list of at most {_MOST_FILTERS} names")
        return ()
    unknown = unknown_filters(texts)
    if unknown:
        known = ", ".join(sorted(FILTERS))
        shown = ", ".join(repr(cut(each)) for each in unknown)
        fields.wrong("events", FieldCode.INVALID_BODY, f"{shown} means no event; known: {known}")
    return tuple(dict.fromkeys(texts))


def _secret(fields: Fields) -> SecretStr | None:
    """Read a secret; a weak one is refused only in the form of Standard Webhooks, which has limits."""
    value = fields.raw("secret")
    if value is None:
        return None
    if not isinstance(value, str):
        problem: str | None = "must be a text"
    else:
        problem = _problem_with(SecretStr(value))
    if problem is not None:
        allowed = f"{PREFIX} and base64, or any other text"
        fields.wrong("secret", FieldCode.INVALID_BODY, f"{problem} ({allowed})", is_secret=True)
        return None
    return SecretStr(str(value))


def _problem_with(secret: SecretStr) -> str | None:
    try:
        weakness = weakness_of(secret)
    except UnusableSecret as error:
        return str(error)
    return weakness if is_encoded(secret) else None
