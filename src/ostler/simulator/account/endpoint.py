"""An *endpoint*: serverless GPUs, workers behind one address that come and go with the load.

Ostler does not use them; they are here so that other clients of the cloud find what they expect. Workers are
not simulated one by one: an endpoint that has started shows its least number of them.
"""

from dataclasses import dataclass
from typing import TypedDict

from ostler.simulator.account.fields import Span, not_in_list, wrong_length, wrong_value

NAME_LENGTH: Span = (1, 255)
IMAGE_LENGTH: Span = (1, 500)
COMMAND_LENGTH: Span = (0, 2047)
SECONDS_TO_SERVE = 20
POLICIES = ("queue", "concurrency", "request_count")


class Limits(TypedDict):
    """The ranges of an endpoint's parameters, under the names that the cloud gives them."""

    minRootfsSize: int
    maxRootfsSize: int
    freeRootfsSize: int
    minLocalVolumeSize: int
    maxLocalVolumeSize: int
    freeLocalVolumeSize: int
    minWorkerNum: int
    maxWorkerNum: int
    minFreeTimeout: int
    maxFreeTimeout: int
    minConcurrencyNum: int
    maxConcurrencyNum: int
    minQueueWaitTime: int
    maxQueueWaitTime: int
    minRequestNum: int
    maxRequestNum: int
    minGPUNum: int
    maxGPUNum: int
    minRequestTimeout: int
    maxRequestTimeout: int
    cudaVersionList: list[str]


LIMITS: Limits = {
    "minRootfsSize": 10,
    "maxRootfsSize": 100,
    "freeRootfsSize": 100,
    "minLocalVolumeSize": 10,
    "maxLocalVolumeSize": 300,
    "freeLocalVolumeSize": 200,
    "minWorkerNum": 0,
    "maxWorkerNum": 1000,
    "minFreeTimeout": 1,
    "maxFreeTimeout": 3600,
    "minConcurrencyNum": 1,
    "maxConcurrencyNum": 1000,
    "minQueueWaitTime": 1,
    "maxQueueWaitTime": 1000,
    "minRequestNum": 1,
    "maxRequestNum": 1000,
    "minGPUNum": 1,
    "maxGPUNum": 8,
    "minRequestTimeout": 1,
    "maxRequestTimeout": 1800,
    "cudaVersionList": ["11.8", "12.1", "12.4", "12.8"],
}


@dataclass(frozen=True, slots=True)
class Workers:
    """How many workers there may be, and what each of them is."""

    least: int = 0
    most: int = 1
    idle_timeout_s: int = 300
    most_concurrent: int = 1
    gpus: int = 1
    request_timeout_s: int = 60
    min_cuda_version: str = ""


@dataclass(frozen=True, slots=True)
class Policy:
    """When another worker is started."""

    kind: str = "queue"
    value: int = 60


@dataclass(frozen=True, slots=True)
class Mount:
    """A disk in every worker."""

    kind: str
    id: str
    size_gb: int
    mount_path: str


@dataclass(frozen=True, slots=True)
class HealthCheck:
    """Where a worker is asked whether it is well."""

    path: str = ""
    port: int = 0


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A serverless endpoint as the cloud keeps it; without an id while it is only asked for."""

    id: str = ""
    account: str = ""
    name: str = ""
    app_name: str = ""
    image: str = ""
    registry_auth_id: str = ""
    command: str = ""
    entrypoint: str = ""
    product_id: str = ""
    cluster_id: str = ""
    rootfs_gb: int = 10
    workers: Workers = Workers()
    policy: Policy = Policy()
    mounts: tuple[Mount, ...] = ()
    envs: tuple[tuple[str, str], ...] = ()
    ports: tuple[int, ...] = ()
    health: HealthCheck = HealthCheck()
    created_at: int = 0

    @property
    def url(self) -> str:
        """Where requests are sent."""
        return f"https://{self.id}.runsync.novita.dev"

    def state_at(self, now: int) -> str:
        """Return `deploying` or `serving`."""
        return "serving" if now >= self.created_at + SECONDS_TO_SERVE else "deploying"

    def worker_ids(self, now: int) -> tuple[str, ...]:
        """Return the workers that run: the least number, once it serves."""
        serving = self.state_at(now) == "serving"
        return tuple(f"{self.id}-{index}" for index in range(self.workers.least if serving else 0))


def checked(endpoint: Endpoint) -> Endpoint:
    """Return the endpoint as it is, or refuse what breaks a limit."""
    for field, text, length in (
        ("name", endpoint.name, NAME_LENGTH),
        ("image.image", endpoint.image, IMAGE_LENGTH),
        ("image.command", endpoint.command, COMMAND_LENGTH),
    ):
        if not length[0] <= len(text) <= length[1]:
            raise wrong_length(field, length)
    for field, number, span in _ranges(endpoint):
        if not span[0] <= number <= span[1]:
            raise wrong_value(field, span, number)
    if endpoint.policy.kind not in POLICIES:
        raise not_in_list(field="policy.type", allowed=POLICIES, seen=endpoint.policy.kind)
    return endpoint


def _ranges(endpoint: Endpoint) -> tuple[tuple[str, int, Span], ...]:
    workers = endpoint.workers
    worker_span = (LIMITS["minWorkerNum"], LIMITS["maxWorkerNum"])
    return (
        ("workerConfig.minNum", workers.least, worker_span),
        ("workerConfig.maxNum", workers.most, (max(workers.least, 1), worker_span[1])),
        ("workerConfig.gpuNum", workers.gpus, (LIMITS["minGPUNum"], LIMITS["maxGPUNum"])),
        (
            "workerConfig.freeTimeout",
            workers.idle_timeout_s,
            (LIMITS["minFreeTimeout"], LIMITS["maxFreeTimeout"]),
        ),
        (
            "workerConfig.maxConcurrent",
            workers.most_concurrent,
            (LIMITS["minConcurrencyNum"], LIMITS["maxConcurrencyNum"]),
        ),
        (
            "workerConfig.requestTimeout",
            workers.request_timeout_s,
            (LIMITS["minRequestTimeout"], LIMITS["maxRequestTimeout"]),
        ),
        ("rootfsSize", endpoint.rootfs_gb, (LIMITS["minRootfsSize"], LIMITS["maxRootfsSize"])),
        ("policy.value", endpoint.policy.value, (LIMITS["minQueueWaitTime"], LIMITS["maxQueueWaitTime"])),
    )
