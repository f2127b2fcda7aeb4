"""What a caller asked wrongly. One table in the API turns a class into an HTTP status; none is known here.

AskedWrongly ─┬─ RequestInvalid: every wrong field at once
              ├─ NotAuthenticated · NotAllowed · OutsideProject · TooManyRequests(retry_after)
              ├─ Missing(what): an instance, product, template, operation, job or registry auth
              ├─ NoOfferAnywhere(left_out): every region tried and why · TemplateUnusable(problems)
              ├─ NotOurs · InstanceTerminated · FixedBySetting: it is not done to such a thing, or not here
              └─ VerbRefused(conflict) · NameAmbiguous · OverBudget · IdempotencyKeyInUse, -Reused
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import ClassVar

from ostler.domain.conflicts import ConflictCode, Verb
from ostler.domain.fields import FieldError, cut
from ostler.domain.kinship import Kinship
from ostler.domain.lifecycle import State
from ostler.domain.money import Usd
from ostler.domain.offers import LeftOut
from ostler.domain.operations import OperationKind
from ostler.domain.roles import Role
from ostler.domain.templates import Problem

_MOST_SAID = 10  # wrong fields in one sentence; all of them are in `errors`


class AskedWrongly(Exception):  # noqa: N818 -- the request was wrong; Ostler did not err
    """The root: a code to branch on, a message for people, details for programs, and a next step."""

    code: ClassVar[str]
    is_retryable: ClassVar[bool] = False  # the same request may be accepted later, unchanged

    def __init__(self, message: str, details: Mapping[str, object] | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.details: Mapping[str, object] = details or {}
        self.hint = hint

    @property
    def error_code(self) -> str:
        """The code of this very error."""
        return self.code


class RequestInvalid(AskedWrongly):
    """One or more fields cannot be used."""

    code = "VALIDATION_ERROR"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        super().__init__("; ".join(f"{error.field} {error.message}" for error in errors[:_MOST_SAID]))
        self.errors = tuple(errors)


class NotAuthenticated(AskedWrongly):
    """The key is missing, unknown or expired."""

    code = "AUTHENTICATION_ERROR"

    def __init__(self) -> None:
        super().__init__("a valid API key is needed", hint="send Authorization: Bearer <key>")


class NotAllowed(AskedWrongly):
    """The key's role does not cover what was asked."""

    code = "FORBIDDEN"

    def __init__(self, role: Role, needed: Role) -> None:
        message = f"this needs a key with the role {needed}; yours has the role {role}"
        super().__init__(message, {"role": role.value, "neededRole": needed.value})


class OutsideProject(AskedWrongly):
    """The key is bound to a project, and what was asked lies outside it."""

    code = "FORBIDDEN"

    def __init__(self, asked: str | None, own: str) -> None:
        what = "this is about the whole account" if asked is None else f"this is about the project {asked!r}"
        message = f"{what}; your key is bound to the project {own!r}"
        super().__init__(message, {"asked": asked, "project": own})


class NotOurs(AskedWrongly):
    """What was asked is not done to an upstream of this kind."""

    code = "FORBIDDEN"

    def __init__(self, verb: str, upstream_id: str, kinship: Kinship) -> None:
        hint = "adopt it first" if kinship is Kinship.STRANGER else ""
        details = {"novitaInstanceId": upstream_id, "kinship": kinship.value}
        super().__init__(f"an upstream that is {kinship.value} cannot be {verb}", details, hint)


class TooManyRequests(AskedWrongly):
    """The key has used up its share for now."""

    code = "RATE_LIMIT_EXCEEDED"
    is_retryable = True

    def __init__(self, retry_after_s: int, limit: int, window_ms: int) -> None:
        details = {"limit": limit, "windowMs": window_ms, "retryAfterSeconds": retry_after_s}
        allowed = f"{limit} in {window_ms / 1000:g} s are allowed"
        super().__init__(f"too many requests: {allowed}; try again in {retry_after_s} s", details)
        self.retry_after_s = retry_after_s


class Thing(StrEnum):
    """What may be missing, and the code that says so."""

    INSTANCE = "INSTANCE_NOT_FOUND"
    PRODUCT = "PRODUCT_NOT_FOUND"
    TEMPLATE = "TEMPLATE_NOT_FOUND"
    OPERATION = "OPERATION_NOT_FOUND"
    JOB = "JOB_NOT_FOUND"
    REGISTRY_AUTH = "REGISTRY_AUTH_NOT_FOUND"
    OTHER = "NOT_FOUND"


class Missing(AskedWrongly):
    """There is no such thing."""

    code = "NOT_FOUND"

    def __init__(self, thing: Thing, asked_for: str) -> None:
        noun = "" if thing is Thing.OTHER else thing.name.replace("_", " ").lower() + " "
        super().__init__(f"there is no {noun}{cut(asked_for)!r}", {"asked": cut(asked_for)})
        self.thing = thing

    @property
    def error_code(self) -> str:
        return self.thing.value


class NoOfferAnywhere(AskedWrongly):
    """The product is known, but can be placed in none of the regions."""

    code = "NO_OPTIMAL_PRODUCT_ANY_REGION"
    is_retryable = True

    def __init__(self, product_name: str, left_out: Sequence[LeftOut]) -> None:
        tried = [
            {
                "region": each.region,
                "reason": each.reason.value,
                "productId": each.product_id,
                "pricePerHour": None if each.price_per_hour is None else float(each.price_per_hour.amount),
            }
            for each in left_out
        ]
        details = {"productName": product_name, "regions": tried}
        hint = "retryUntilAvailable waits for stock; regions widens the search"
        super().__init__(f"{product_name!r} cannot be placed in any region tried", details, hint)


class TemplateUnusable(AskedWrongly):
    """The template says something that the cloud cannot do."""

    code = "TEMPLATE_INVALID"

    def __init__(self, template_id: str, problems: Sequence[Problem]) -> None:
        listed = [{"field": each.field, "value": each.value, "message": each.message} for each in problems]
        said = "; ".join(f"{each.field} {each.message}" for each in problems)
        super().__init__(f"template {template_id!r} cannot be run: {said}", {"problems": listed})


class VerbRefused(AskedWrongly):
    """The verb does not fit the state, or the operation that is open."""

    is_retryable = True

    def __init__(
        self, verb: Verb, conflict: ConflictCode, state: State, blocking: tuple[str, OperationKind] | None
    ) -> None:
        busy = "" if blocking is None else f" while its {blocking[1].value} is open"
        details: dict[str, object] = {"state": state.value, "verb": verb.value}
        if blocking is not None:
            details |= {"operationId": blocking[0], "kind": blocking[1].value}
        super().__init__(f"cannot {verb.value} an instance that is {state.value}{busy}", details)
        self.conflict = conflict

    @property
    def error_code(self) -> str:
        return self.conflict.value


class InstanceTerminated(AskedWrongly):
    """There is nothing left of the instance that could be changed or used."""

    code = "INSTANCE_TERMINATED"

    def __init__(self, instance_id: str) -> None:
        super().__init__(f"instance {instance_id!r} is terminated: nothing of it changes any more")


class FixedBySetting(AskedWrongly):
    """It comes from a setting and goes with it."""

    code = "FIXED_BY_SETTING"

    def __init__(self, what: str, setting: str) -> None:
        message = f"{what!r} comes from the setting {setting}, which is changed in the environment"
        hint = f"change or unset {setting}, and restart"
        super().__init__(message, {"asked": what, "setting": setting}, hint)


class NameAmbiguous(AskedWrongly):
    """Several living instances have the name."""

    code = "NAME_AMBIGUOUS"

    def __init__(self, name: str, instance_ids: Sequence[str]) -> None:
        message = f"{len(instance_ids)} instances are called {name!r}"
        super().__init__(message, {"instanceIds": list(instance_ids)}, hint="use an id")


class OverBudget(AskedWrongly):
    """A budget does not cover the dearest allowed candidate."""

    code = "BUDGET_EXCEEDED"

    def __init__(self, budget: str, limit: Usd, wanted: Usd) -> None:
        details = {"budget": budget, "limit": str(limit.amount), "wanted": str(wanted.amount)}
        super().__init__(f"budget {budget!r} allows {limit}; with this it would be {wanted}", details)


class IdempotencyKeyInUse(AskedWrongly):
    """The first request with this key is not answered yet."""

    code = "IDEMPOTENCY_KEY_IN_PROGRESS"
    is_retryable = True

    def __init__(self) -> None:
        hint = "send the same request again in a moment: it gets the first one's answer"
        super().__init__("a request with this Idempotency-Key is still being answered", hint=hint)
        self.retry_after_s = 1


class IdempotencyKeyReused(AskedWrongly):
    """The key was used before with another body."""

    code = "IDEMPOTENCY_KEY_REUSED"

    def __init__(self) -> None:
        super().__init__("this Idempotency-Key was used with another body", hint="use a new key")
