"""The *job*: something long that the cloud does for an instance, such as saving its image or moving it.

An open job is also named on its instance (`Instance.jobs`), where it blocks most verbs. Saving an image
runs by itself; a migration's job is opened and ended by `lifecycle.py`. The faces only show jobs and ask to
break them.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from ostler.simulator.instance import Instance
from ostler.simulator.refusal import Refusal
from ostler.simulator.world import INSTANCES, Kind, World


class JobType(StrEnum):
    """What a job does."""

    SAVE_IMAGE = "saveImage"  # the caller wants the container kept as an image
    MIGRATE = "instanceMigrate"  # the caller wants another node
    AUTO_MIGRATE = "autoInstanceMigrate"  # the cloud moves the instance off a bad node


class JobState(StrEnum):
    """How far a job is."""

    PULLING = "pulling"  # being prepared
    RUNNING = "running"  # at work
    FAIL = "fail"  # ended badly; `error` says why
    SUCCESS = "success"  # ended well
    BREAK = "break"  # stopped by the caller


OPEN = frozenset({JobState.PULLING, JobState.RUNNING})


@dataclass(slots=True)
class Job:
    """One job; instants are unix seconds of the world's clock."""

    id: str
    account: str
    instance_id: str
    type: JobType
    created_at: float
    state: JobState = JobState.PULLING
    error: str = ""
    error_message: str = ""
    image: str = ""
    registry_auth_id: str = ""
    ended_at: float = 0.0
    due_at: float | None = None

    @property
    def is_open(self) -> bool:
        """Tell whether the job still blocks its instance."""
        return self.state in OPEN


def open_job(world: World, instance: Instance, job_type: JobType) -> Job:
    """Open a job for an instance and name it there."""
    job = Job(world.new_id("job"), instance.account, instance.id, job_type, world.now)
    instance.jobs[job.id] = job_type
    world.touch(INSTANCES, instance.id)
    world.hold_back(JOBS, job.id, None)
    return world.put(JOBS, job.id, job)


def end_job(world: World, job: Job, state: JobState, message: str = "") -> None:
    """End a job and take its name off the instance."""
    job.state, job.ended_at, job.due_at = state, world.now, None
    if message:
        job.error, job.error_message = state.upper(), message
    instance = world.instances.get(job.instance_id)
    if instance is not None:
        instance.jobs.pop(job.id, None)
        world.touch(INSTANCES, instance.id)
    world.touch(JOBS, job.id)


def save_image(world: World, instance: Instance, image: str, registry_auth_id: str = "") -> Job:
    """Begin to save an instance's container as an image; `lifecycle.check` says whether it may."""
    job = open_job(world, instance, JobType.SAVE_IMAGE)
    job.image, job.registry_auth_id = image, registry_auth_id
    job.due_at = world.now + world.durations.save_image_s / 10
    world.touch(JOBS, job.id)
    return job


def break_job(world: World, job: Job) -> None:
    """Stop a job at the caller's wish; a migration cannot be stopped."""
    if job.type is not JobType.SAVE_IMAGE:
        raise Refusal(400, reason="MIGRATION_JOB_NOT_BREAKABLE", message="migration job is not breakable")
    if job.is_open:
        world.hold_back(JOBS, job.id, replace(job))
        end_job(world, job, JobState.BREAK)


def _progress(world: World, job: Job) -> None:
    if job.state is JobState.PULLING:
        job.state = JobState.RUNNING
        job.due_at = world.now + world.durations.save_image_s
    else:
        end_job(world, job, JobState.SUCCESS)


JOBS = Kind("job", Job, due=lambda job: job.due_at, on_due=_progress)
