"""The request to start an instance, by its id or by its name, as a value.

`{healthCheckConfig?, targetPort?, webhookUrl?}`, by name with `instanceName`. Every wrong field is told at
once; the rules of single fields are shared with `requests.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from ostler.domain.errors import RequestInvalid
from ostler.domain.fields import FieldCode, Fields
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.health_requests import PORT, read_health_wish, with_target
from ostler.domain.requests import INSTANCE_NAME, Defaults, read_webhook_url

_KNOWN = ("healthCheckConfig", "targetPort", "webhookUrl")


@dataclass(frozen=True, slots=True)
class StartRequest:
    """What is wanted of a start. `health` None with checks allowed: the defaults, where HTTP is exposed."""

    health: HealthPolicy | None = None
    is_check_refused: bool = False
    webhook_url: str | None = None
    instance_name: str | None = None


def parse_start(body: Mapping[str, object], defaults: Defaults, *, by_name: bool = False) -> StartRequest:
    """Return the start that a body asks for; raise RequestInvalid with every wrong field."""
    fields = Fields(body)
    fields.refuse_unknown((*_KNOWN, "instanceName") if by_name else _KNOWN)
    target_port = fields.whole("targetPort", FieldCode.INVALID_HEALTH_CHECK, PORT)
    wish = read_health_wish(fields, "healthCheckConfig", defaults.health)
    policy = wish.policy
    if target_port is not None and not wish.is_refused:
        policy = with_target(policy or defaults.health, target_port)
    request = StartRequest(
        health=policy,
        is_check_refused=wish.is_refused,
        webhook_url=read_webhook_url(fields, defaults.receivers),
        instance_name=_name(fields) if by_name else None,
    )
    if fields.errors:
        raise RequestInvalid(fields.errors)
    return request


def _name(fields: Fields) -> str:
    return fields.required_text("instanceName", FieldCode.INVALID_INSTANCE_NAME, INSTANCE_NAME)
