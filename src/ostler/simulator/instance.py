"""The *instance*: a container that the pretend cloud runs for an account, with everything known of it.

Plain data. Statuses are moved by `lifecycle.py`, faces turn it into JSON, `state_file.py` keeps it.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from ostler.simulator.app import AppScript
from ostler.simulator.fate import Fate
from ostler.simulator.status import Status

NEVER = 0.0  # an instant that has not come; shown as "0"


_READY = AppScript()


class Mode(StrEnum):
    """How an instance is paid for."""

    ON_DEMAND = "onDemand"  # by the second
    MONTHLY = "monthly"  # whole months in advance
    SPOT = "spot"  # by the second, and the cloud may take the node back


class SpotStatus(StrEnum):
    """How a spot instance stands with the market."""

    NOT_SPOT = ""  # another billing mode, or stopped by its owner
    RUNNING = "running"  # nobody wants the node
    NOTIFIED = "notified"  # the node will be taken at the reclaim time
    RECLAIMING = "reclaiming"  # the node is being taken
    TERMINATED = "terminated"  # the node was taken


class Timer(StrEnum):
    """What can be due for an instance; each at most once at a time."""

    STATUS = "status"  # the next arrow of the table
    SPOT_NOTICE = "spotNotice"  # the market will want the node
    RECLAIM = "reclaim"  # the node is taken
    RELEASE_DATA = "releaseData"  # the system disk of a stopped instance is wiped
    END_OF_TERM = "endOfTerm"  # a paid month is over


@dataclass(frozen=True, slots=True)
class ExposedPort:
    """A port and how it is reached."""

    port: int
    type: str  # http | tcp


@dataclass(frozen=True, slots=True)
class Env:
    """An environment variable."""

    key: str
    value: str


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that an official image brings along, such as Jupyter."""

    name: str
    port: int
    type: str


@dataclass(frozen=True, slots=True)
class VolumeMount:
    """A network storage and where it appears."""

    id: str
    mount_path: str
    size_gb: int = 0
    type: str = "network"


@dataclass(frozen=True, slots=True)
class StatusError:
    """Why an instance did not get where it was going; both empty when nothing is wrong."""

    state: str = ""
    message: str = ""


@dataclass(slots=True)
class Instance:
    """One instance; instants are unix seconds of the world's clock, prices are in 1/100000 USD."""

    id: str
    account: str
    name: str
    kind: str  # gpu | cpu
    product_id: str
    cluster_id: str
    mode: Mode
    gpu_num: int
    rootfs_gb: int
    image_url: str
    created_at: float
    price_per_hour: int  # per GPU, or per machine for a CPU product; fixed when it was created
    number: int = 0  # how many were created before it, of all accounts
    image_auth_id: str = ""
    command: str = ""
    entrypoint: str = ""
    envs: tuple[Env, ...] = ()
    ports: tuple[ExposedPort, ...] = ()
    tools: tuple[Tool, ...] = ()
    volumes: tuple[VolumeMount, ...] = ()
    network_id: str = ""
    network_ip: str = ""
    template_id: str = ""
    min_cuda_version: str = ""
    status: Status = Status.PENDING
    error: StatusError = StatusError()
    timers: dict[Timer, float] = field(default_factory=dict)
    last_started_at: float = NEVER
    last_stopped_at: float = NEVER
    release_data_at: float = NEVER
    is_disk_wiped: bool = False
    use_seconds: int = 0  # of the runs that are over
    ends_at: float = NEVER  # the end of what was paid in advance
    then_on_demand: bool = False  # after the term, by the second
    auto_renew: bool = False
    auto_renew_months: int = 0
    auto_migrate: bool = True
    auto_migrate_system_disk: bool = True
    spot_status: SpotStatus = SpotStatus.NOT_SPOT
    spot_reclaim_at: float = NEVER
    jobs: dict[str, str] = field(default_factory=dict)  # open jobs: id → type
    gpu_ids: tuple[int, ...] = ()
    ssh_password: str = ""
    ssh_port: int = 0
    app: AppScript = _READY
    fate: Fate | None = None  # what is to go wrong in the status it names

    def is_expired(self, now: float) -> bool:
        """Tell whether it was paid in advance, and that time is over."""
        return self.mode is Mode.MONTHLY and self.ends_at <= now

    @property
    def due_at(self) -> float | None:
        """The next instant at which time alone changes something."""
        return min(self.timers.values(), default=None)
