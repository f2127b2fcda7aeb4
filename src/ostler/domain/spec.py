"""A *spec*: what was asked for when an instance was created, validated, with its defaults filled in.

It is kept with the instance and never changes by itself. It is read from a body by `requests.py`;
what only the template can say (the size of the disk) is filled in by `resolved_rootfs_gb`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from ostler.domain.catalogue import BillingMode
from ostler.domain.health_policy import HealthPolicy
from ostler.domain.money import Usd

DEFAULT_ROOTFS_GB = 60


class OnLimit(StrEnum):
    """What happens when a limit of time or money is reached."""

    STOP = "stop"  # its disk is paid for on
    DELETE = "delete"


class OnFailure(StrEnum):
    """What happens to the upstream of a create that came to nothing."""

    DELETE = "delete"
    STOP = "stop"
    KEEP = "keep"


class OnReclaim(StrEnum):
    """What happens when the cloud takes a spot instance back while its owner wants it running."""

    MIGRATE = "migrate"
    RECREATE = "recreate"  # a new attempt elsewhere; the old one goes once the new one is usable
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Limits:
    """The brakes of one instance."""

    ttl: timedelta | None = None
    max_cost: Usd | None = None
    on_limit: OnLimit = OnLimit.STOP
    idle_stop: timedelta | None = None


@dataclass(frozen=True, slots=True)
class InstanceSpec:
    """What was asked for."""

    name: str
    product_name: str
    template_id: str
    gpus: int = 1
    rootfs_gb: int | None = None  # None: 60, or the template's if that is larger
    region: str | None = None  # None: the configured one
    regions: tuple[str, ...] | None = None  # None: the configured ones
    is_anywhere: bool = False  # `regions: "any"`
    billing_mode: BillingMode = BillingMode.SPOT
    months: int = 0
    max_price_per_hour: Usd | None = None
    webhook_url: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    on_failure: OnFailure = OnFailure.DELETE
    on_reclaim: OnReclaim = OnReclaim.MIGRATE
    health: HealthPolicy | None = None  # None: running is usable
    startup_timeout: timedelta = timedelta(minutes=10)
    envs: Mapping[str, str] = field(default_factory=dict, repr=False)
    project: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    retry_until_available: bool = False
    give_up_after: timedelta = timedelta(hours=24)


def resolved_rootfs_gb(asked: int | None, template_gb: int) -> int:
    """Return the size of the disk: what was asked for, else 60 GB or the template's if that is larger."""
    return asked if asked is not None else max(DEFAULT_ROOTFS_GB, template_gb)
