"""An *upstream* is the cloud's side of an instance: what one look at it has shown, in our words.

Values only; the states are the domain's. A look is dated by the instant at which its request began, because
the answer may describe any moment after it; whoever compares two looks compares these instants.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from pydantic import SecretStr

from ostler.domain.catalogue import BillingMode, Port, Protocol
from ostler.domain.money import Usd
from ostler.domain.upstream import UpstreamState


class SpotStatus(StrEnum):
    """Where a spot instance stands between the market and its end."""

    NONE = "none"  # not a spot instance, or it was stopped by hand
    RUNNING = "running"
    NOTIFIED = "notified"  # will be taken back at `reclaim_at`
    RECLAIMING = "reclaiming"
    TERMINATED = "terminated"  # taken back
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An exposed port; the address is empty until the instance runs."""

    port: int
    protocol: Protocol
    address: str


NO_SECRET = SecretStr("")


@dataclass(frozen=True, slots=True)
class Connection:
    """How people get in; only a single GET shows it, and only while the instance runs."""

    ssh_command: str = ""
    ssh_password: SecretStr = NO_SECRET
    jupyter_url: str = ""
    web_terminal_url: str = ""
    web_terminal_user: str = ""
    web_terminal_password: SecretStr = NO_SECRET
    system_log_url: str = ""
    instance_log_url: str = ""


@dataclass(frozen=True, slots=True)
class JobRef:
    """A job of the cloud that is under way on an instance and blocks its verbs."""

    id: str
    kind: str


@dataclass(slots=True)  # not frozen, which makes one three times as dear: a pass makes one for each instance
class Upstream:
    """One look at one instance. `observed_at` is when the request began that showed it."""

    id: str
    name: str
    status: str  # the cloud's word
    state: UpstreamState
    observed_at: datetime
    region_id: str = ""
    region_name: str = ""
    product_id: str = ""
    product_name: str = ""
    image: str = ""
    registry_auth_id: str = ""
    gpus: int = 0
    rootfs_gb: int = 0
    endpoints: tuple[Endpoint, ...] = ()
    connection: Connection | None = None  # None: a row of a list, which does not show it
    billing_mode: BillingMode | None = None  # None: the cloud did not say
    price_per_gpu_hour: Usd | None = None
    disk_price_per_gb_day: Usd | None = None
    stopped_disk_price_per_gb_day: Usd | None = None
    created_at: datetime | None = None
    started_at: datetime | None = None
    stopped_at: datetime | None = None
    use_seconds: int | None = None
    ends_at: datetime | None = None  # of a prepaid term
    data_expires_at: datetime | None = None  # when a stopped instance's disk is wiped
    spot_status: SpotStatus = SpotStatus.NONE
    reclaim_at: datetime | None = None  # announced, or past
    error_code: str = ""
    error_message: str = ""
    jobs: tuple[JobRef, ...] = ()

    @property
    def is_reclaimed(self) -> bool:
        """Tell whether the market took it back: stopped, with a time of reclaim."""
        return self.state is UpstreamState.EXITED and self.reclaim_at is not None


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the account's list; `unreadable` are rows whose id is known and nothing else."""

    upstreams: tuple[Upstream, ...]
    began_at: datetime
    total: int | None = None  # as the cloud counts; it may not say
    unreadable: Mapping[str, str] = field(default_factory=dict)  # id → what is wrong with the row

    @property
    def ids(self) -> frozenset[str]:
        """The ids of all rows, readable or not."""
        return frozenset(upstream.id for upstream in self.upstreams) | self.unreadable.keys()


@dataclass(frozen=True, slots=True)
class Listing:
    """All pages together. Only a complete listing proves that something is absent from the account."""

    upstreams: tuple[Upstream, ...]
    began_at: datetime
    is_complete: bool
    pages: int
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """A long-running piece of work of the cloud: a migration, an image being saved."""

    id: str
    kind: str
    state: str
    instance_id: str
    error: str
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a registry asks for; fetched only where an id is not accepted, never kept."""

    username: str
    password: SecretStr


@dataclass(frozen=True, slots=True)
class CreateOrder:
    """Everything that a create says. Values of the environment never show in its repr."""

    name: str
    product_id: str
    region_id: str
    gpus: int
    rootfs_gb: int
    image: str
    billing_mode: BillingMode
    months: int = 0  # of a prepaid term
    ports: tuple[Port, ...] = ()
    envs: Mapping[str, str] = field(default_factory=dict, repr=False)
    command: str = ""
    entrypoint: str = ""
    registry_auth_id: str = ""
    credentials: Credentials | None = None  # only where the id was refused
    min_cuda_version: str = ""


@dataclass(frozen=True, slots=True)
class UseSample:
    """A share of 100 at an instant."""

    at: datetime
    percent: float


@dataclass(frozen=True, slots=True)
class GpuUse:
    """How busy the GPUs of an instance were; empty series mean that nothing was measured."""

    compute: tuple[UseSample, ...]
    memory: tuple[UseSample, ...]


@dataclass(frozen=True, slots=True)
class Balance:
    """The account's money."""

    available: Usd
    cash: Usd
    credit_limit: Usd
    pending_charges: Usd
