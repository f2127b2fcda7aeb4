"""What the controls under `/_sim/` take, checked by name and type.

Body, query and path parameters of a control are one model; a name that it does not know is refused.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from ostler.simulator.account.network_storage import CreateAnswer
from ostler.simulator.app import AppMood
from ostler.simulator.exchange import ErrorBody
from ostler.simulator.fate import Outcome
from ostler.simulator.faults import FaultKind
from ostler.simulator.instance import Mode
from ostler.simulator.keys import DEFAULT_ACCOUNT
from ostler.simulator.status import Status

_TEN_YEARS_S = 10 * 365 * 86_400
_MUCH = 1_000_000_000
SLOW_S = 60.0

Seconds = Annotated[float, Field(ge=0, le=_TEN_YEARS_S)]
Amount = Annotated[int, Field(ge=0, le=_MUCH)]


class Body(BaseModel):
    """A body; what it does not know is refused."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, frozen=True, allow_inf_nan=False)


class Nothing(Body):
    """No parameters."""


class LedgerQuery(Body):
    account: str = ""


class CallsQuery(Body):
    log: int = Field(default=0, ge=0)


class AddFault(Body):
    fault: FaultKind
    route: str = "*"
    times: int | None = Field(default=None, ge=1)
    share: float = Field(default=1.0, gt=0, le=1)
    seconds: Seconds = 0.0
    status: int = Field(default=502, ge=400, le=599)
    reason: str = "UNKNOWN"
    message: str = "unknown error"
    after: bool = False
    retry_after: Amount | None = None
    body: ErrorBody | None = None
    seed: int | None = None

    @property
    def calls(self) -> int | None:
        """How many calls it spoils; a share goes on until it is taken back."""
        if self.times is None and "share" in self.model_fields_set:
            return None
        return self.times or 1


class FaultId(Body):
    id: int


class AddFate(Body):
    verb: Literal["create", "start", "stop", "restart", "delete", "migrate", "upgrade"] = "create"
    at: Status | None = None
    outcome: Outcome
    times: int = Field(default=1, ge=1, le=10_000)
    seconds: Seconds = 0.0
    state: str = "IMAGE_PULL_FAILED"
    message: str = "failed to pull image"


class SetStock(Body):
    product_id: str
    cluster_id: str
    mode: Mode = Mode.ON_DEMAND
    free: Amount


class SetPrices(Body):
    product_id: str
    price: Amount | None = None
    spot_price: Amount | None = None


class Reclaim(Body):
    id: str
    notice_seconds: Seconds | None = None


class OneInstance(Body):
    id: str


class SetApp(Body):
    id: str
    mood: AppMood = AppMood.READY
    ready_after_seconds: Seconds = 0.0
    delay_seconds: Seconds | None = None
    status: int = Field(default=200, ge=200, le=599)
    body: str = "ok"

    @property
    def delay_s(self) -> float:
        """How long an answer takes: what is slow and not told how slow is slower than most are patient."""
        usual = SLOW_S if self.mood is AppMood.SLOW else 0.0
        return usual if self.delay_seconds is None else self.delay_seconds


class TurnClock(Body):
    speed: float | None = Field(default=None, ge=0, le=1_000_000)
    advance: Seconds | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "TurnClock":
        if self.speed is None and self.advance is None:
            raise ValueError("speed or advance is required")  # noqa: EM101, TRY003 -- how pydantic takes it
        return self


class Seed(Body):
    instances: int = Field(ge=1, le=1_000_000)
    account: str = DEFAULT_ACCOUNT
    status: Literal["running", "exited"] = "running"
    name: str = "seeded"


class SetBalance(Body):
    usd: float = Field(ge=-_MUCH, le=_MUCH)
    account: str = DEFAULT_ACCOUNT


class SetQuota(Body):
    account: str = DEFAULT_ACCOUNT
    gpus: Amount | None = None
    instances: Amount | None = None


class SetKey(Body):
    key: str = Field(min_length=1)
    account: str = DEFAULT_ACCOUNT
    invalid: bool = False
    forbidden: bool = False


class SetLag(Body):
    create_seconds: Seconds = 0.0
    effect_seconds: Seconds = 0.0


class SetManners(Body):
    storage_create: CreateAnswer


class SetGpuUse(Body):
    id: str
    percent: float | None = Field(default=None, ge=0, le=100)
