"""The bodies of changes to instances, as the API's document describes them.

The domain reads and judges bodies (`domain/requests.py`, `domain/start_requests.py`); these models only
describe them for people and tools. A test holds the two together.
"""

from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from ostler.api.model import Form, Question
from ostler.domain.catalogue import BillingMode
from ostler.domain.spec import OnFailure, OnLimit, OnReclaim

# \x85 is a space to us, and not to the dialect of JSON Schema
PRINTABLE = r"^[^\x00-\x1f\x7f]*[^\x00-\x1f\x7f\x85\s][^\x00-\x1f\x7f]*$"
UNSPACED = r"^[^\x00-\x1f\x7f\x85\s]{1,255}$"

Port = Annotated[int, Field(ge=1, le=65_535)]
InstanceName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,100}$")]
Words = Annotated[str, Field(min_length=1, max_length=255, pattern=PRINTABLE)]
Dollars = Annotated[float, Field(ge=0.00001, le=1_000_000)]
Status = Annotated[int, Field(ge=100, le=399)]
EnvValue = Annotated[str, Field(max_length=4095, pattern=r"^[^\x00]*$")]
LabelValue = Annotated[str, Field(max_length=255, pattern=r"^[^\x00-\x1f\x7f]*$")]
WebhookUrl = Annotated[str, Field(max_length=2048, pattern="^https?://", json_schema_extra={"format": "iri"})]
Project = Annotated[
    str,
    Form(
        r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
        "1 to 63 letters, digits, `.`, `_` and `-`, the first a letter or digit",
    ),
]
# what keys may be is said by `propertyNames`: a pattern on the key's type would let all others pass
_LABEL_KEYS: JsonDict = {"propertyNames": {"pattern": r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$"}}
_ENV_KEYS: JsonDict = {"propertyNames": {"minLength": 1, "maxLength": 511, "pattern": r"^[^=\x00]*$"}}
Labels = Annotated[dict[str, LabelValue], Field(max_length=32, json_schema_extra=_LABEL_KEYS)]
Envs = Annotated[dict[str, EnvValue], Field(max_length=100, json_schema_extra=_ENV_KEYS)]


class HealthCheckBody(Question):
    """How readiness is judged; what is absent is as the settings say."""

    target_port: Port | None = None
    path: str | None = Field(None, pattern=r"^/[!-~]{0,2047}$")
    expect_status: Status | Annotated[list[Status], Field(min_length=1)] | None = None
    timeout_ms: int | None = Field(None, ge=100, le=300_000)
    retry_attempts: int | None = Field(None, ge=1, le=100)
    retry_delay_ms: int | None = Field(None, ge=10, le=300_000)
    max_wait_time_ms: int | None = Field(None, ge=100, le=86_400_000)
    interval_seconds: int | None = Field(None, ge=0, le=86_400, description="between probes while ready")


class EnvPair(Question):
    """One environment variable, as the cloud lists them."""

    key: str = Field(min_length=1, max_length=511, pattern=r"^[^=\x00]*$")
    value: EnvValue


EnvPairs = Annotated[list[EnvPair], Field(max_length=100)]
_PREPAID: JsonDict = {
    "if": {"properties": {"billingMode": {"const": "monthly"}}, "required": ["billingMode"]},
    "then": {
        "properties": {
            "months": {"type": "integer"},
            "confirmPrepaid": {"const": True},
            "onLimit": {"not": {"const": "delete"}},
            "onFailure": {"not": {"const": "delete"}},
        },
        "required": ["months", "confirmPrepaid"],
    },
    "else": {"properties": {"months": {"type": "null"}}},
}


class CreateBody(Question):
    """The instance that is wanted. A null counts as absent."""

    model_config = ConfigDict(json_schema_extra=_PREPAID)

    name: InstanceName
    product_name: Words = Field(description="exact, else a part, in any case")
    template_id: Annotated[str, Field(pattern=UNSPACED)] | Annotated[int, Field(ge=1, lt=2**63)]
    gpu_num: int | None = Field(1, ge=1, le=8)
    rootfs_size: int | None = Field(
        None, ge=10, le=1000, description="GB; default 60, or the template's if larger"
    )
    region: Words | None = Field(None, description="tried first: code, id or name")
    regions: Annotated[list[Words], Field(min_length=1, max_length=32)] | Literal["any"] | None = Field(
        None, description="in this order instead of the settings'"
    )
    billing_mode: BillingMode | None = BillingMode.SPOT
    months: int | None = Field(None, ge=1, le=12, description="with `monthly` only, and required there")
    confirm_prepaid: bool | None = Field(default=False, description="must be true with `monthly`")
    max_price_per_hour: Dollars | None = Field(None, description="USD, all GPUs together")
    ttl_seconds: int | None = Field(None, ge=60, le=31_536_000)
    max_cost: Dollars | None = Field(None, description="USD")
    on_limit: OnLimit | None = OnLimit.STOP
    idle_stop_minutes: int | None = Field(None, ge=1, le=43_200)
    on_failure: OnFailure | None = Field(OnFailure.DELETE, description="with `monthly`: keep")
    on_reclaim: OnReclaim | None = OnReclaim.MIGRATE
    health_check: bool | HealthCheckBody | None = None
    startup_timeout_seconds: int | None = Field(None, ge=10, le=86_400)
    envs: Envs | EnvPairs | None = Field(None, description="write-only, encrypted at rest")
    project: Project | None = None
    labels: Labels | None = None
    webhook_url: WebhookUrl | None = None
    retry_until_available: bool | None = False
    give_up_after_seconds: int | None = Field(None, ge=60, le=2_592_000)
    dry_run: bool | None = Field(default=False, description="answer with the plan, create nothing")


class StartBody(Question):
    """How a start is to be checked and told."""

    health_check_config: bool | HealthCheckBody | None = None
    target_port: Port | None = None
    webhook_url: WebhookUrl | None = None


class StartByNameBody(StartBody):
    """A start of the instance of this name."""

    instance_name: InstanceName


class ByNameBody(Question):
    """The instance of this name."""

    instance_name: InstanceName


class MigrateBody(Question):
    """A migration loses what the system and local disks hold; that must be accepted."""

    accept_data_loss: Literal[True]


class PatchBody(Question):
    """What is to change; what is absent stays, null takes a limit away."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    name: InstanceName | None = None
    labels: Labels | None = None
    ttl_seconds: int | None = Field(None, ge=60, le=31_536_000)
    max_cost: Dollars | None = Field(None, description="USD")
    idle_stop_minutes: int | None = Field(None, ge=1, le=43_200)
    on_limit: OnLimit | None = None


def described_by(model: type[Question], *, is_required: bool = True) -> dict[str, object]:
    """Return what a route says in the document about a body that the domain reads."""
    schema = model.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)  # the document defines them once, see `documented`
    return {"requestBody": {"required": is_required, "content": {"application/json": {"schema": schema}}}}


def documented() -> dict[str, object]:
    """Return the schemas that these bodies refer to, by name."""
    found: dict[str, object] = {}
    for model in (CreateBody, StartBody, StartByNameBody, ByNameBody, MigrateBody, PatchBody):
        schema = model.model_json_schema(by_alias=True, ref_template="#/components/schemas/{model}")
        found |= schema.get("$defs", {})
    return found
