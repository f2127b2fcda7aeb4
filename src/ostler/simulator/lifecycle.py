"""The life of an instance: the one place that moves its status, with all that goes with entering one.

`verbs.py` calls `move` for what a caller asked; `progress` and `run_dry` are what time alone does.
Where a status leads is in the table of `status.py`.
"""

from typing import assert_never

from ostler.simulator import spot, stockroom
from ostler.simulator.accounting import charge, freeze_account
from ostler.simulator.fate import Outcome
from ostler.simulator.instance import NEVER, Instance, SpotStatus, StatusError, Timer
from ostler.simulator.job import JOBS, JobState, JobType, end_job, open_job
from ostler.simulator.money import SECONDS_PER_DAY, Wallet, whole_seconds
from ostler.simulator.status import FOLLOWS, HOLDS_GPU, Status
from ostler.simulator.subscription import goes_on
from ostler.simulator.world import INSTANCES, LEDGER, World


def move(world: World, instance: Instance, status: Status) -> None:
    """Put an instance into a status."""
    before, instance.status = instance.status, status
    world.fleet(instance.account).regroup(instance, "status", before)
    if before is Status.RUNNING:
        instance.use_seconds += whole_seconds(instance.last_started_at, world.now)
    if before in HOLDS_GPU and status not in HOLDS_GPU:
        _release_gpus(world, instance)
        spot.leave_market(instance)
    match status:
        case Status.RUNNING:
            _enter_running(world, instance)
        case Status.EXITED:
            _enter_exited(world, instance)
        case Status.REMOVED:
            _enter_removed(world, instance)
        case _:
            instance.timers.pop(Timer.RELEASE_DATA, None)
    charge(world, instance)
    if status is Status.REMOVED:
        _forget(world, instance)
        return
    _wait_in(world, instance)
    world.touch(INSTANCES, instance.id)


def progress(world: World, instance: Instance) -> None:
    """Do the next thing that is due for an instance at the world's instant."""
    timer = min(instance.timers, key=lambda each: instance.timers[each])
    del instance.timers[timer]
    match timer:
        case Timer.STATUS:
            _follow(world, instance)
        case Timer.SPOT_NOTICE:
            spot.notify(world, instance, world.durations.spot_notice_s)
        case Timer.RECLAIM:
            spot.begin_reclaim(instance)
            move(world, instance, Status.STOPPING)
        case Timer.RELEASE_DATA:
            instance.is_disk_wiped = True
            charge(world, instance)
        case Timer.END_OF_TERM:
            if not goes_on(world, instance):
                freeze(world, instance)
        case _:
            assert_never(timer)


def run_dry(world: World, wallet: Wallet) -> None:
    """Stop all that an account runs, at the instant at which its money is spent."""
    freeze_account(world, wallet.account, freeze)


def freeze(world: World, instance: Instance) -> None:
    """Stop an instance because nobody pays for it any more."""
    if instance.status in HOLDS_GPU:
        move(world, instance, Status.FREEZING)


def lose_host(world: World, instance: Instance) -> None:
    """Let the node under a running instance fail; the cloud moves those that asked for it."""
    if instance.auto_migrate and not instance.jobs:
        job = open_job(world, instance, JobType.AUTO_MIGRATE)
        job.state = JobState.RUNNING
        spot.leave_market(instance)
        move(world, instance, Status.MIGRATING)
    else:
        instance.error = StatusError("HOST_FAILED", "the host failed")
        move(world, instance, Status.EXITED)


def _forget(world: World, instance: Instance) -> None:
    """Drop a removed instance from the world; only the ledger remembers it."""
    world.wallet(instance.account).instances_alive -= 1
    world.fleet(instance.account).remove(instance)
    world.drop(INSTANCES, instance.id)


def _release_gpus(world: World, instance: Instance) -> None:
    if instance.spot_status is SpotStatus.RECLAIMING:
        stockroom.write_off(world, instance)
    else:
        stockroom.put_back(world, instance)


def _enter_running(world: World, instance: Instance) -> None:
    instance.last_started_at = world.now
    instance.error = StatusError()
    instance.is_disk_wiped = False
    instance.release_data_at = NEVER
    instance.ssh_password = world.new_id("password")  # the cloud makes a new one at each start
    if instance.kind == "gpu":
        instance.gpu_ids = world.some_gpus(instance.gpu_num)
    world.cache_image(instance.cluster_id, instance.image_url)
    _end_migrations(world, instance, JobState.SUCCESS)
    spot.enter_market(world, instance)


def _enter_exited(world: World, instance: Instance) -> None:
    instance.last_stopped_at = world.now
    instance.release_data_at = world.now + world.durations.keep_data_days * SECONDS_PER_DAY
    instance.timers[Timer.RELEASE_DATA] = instance.release_data_at
    _end_migrations(world, instance, JobState.FAIL)


def _enter_removed(world: World, instance: Instance) -> None:
    world.ledger[instance.id].removed_at = world.now
    world.touch(LEDGER, instance.id)
    instance.timers.clear()


def _end_migrations(world: World, instance: Instance, state: JobState) -> None:
    jobs = world.rows(JOBS)
    for job_id in [job_id for job_id, kind in instance.jobs.items() if kind != JobType.SAVE_IMAGE]:
        end_job(world, jobs[job_id], state, instance.error.message)


def _follow(world: World, instance: Instance) -> None:
    fate = instance.fate if instance.fate is not None and instance.fate.at is instance.status else None
    if fate is not None:
        instance.fate = None
    if fate is not None and fate.outcome is Outcome.FAIL:
        instance.error = StatusError(fate.state, fate.message)
        move(world, instance, Status.EXITED)
    else:
        move(world, instance, FOLLOWS[instance.status])


def _wait_in(world: World, instance: Instance) -> None:
    lasts_s = _lasts(world, instance)
    if lasts_s is None:
        instance.timers.pop(Timer.STATUS, None)
    else:
        instance.timers[Timer.STATUS] = world.now + lasts_s


def _lasts(world: World, instance: Instance) -> float | None:
    fate = instance.fate
    if fate is not None and fate.at is instance.status and fate.outcome is not Outcome.FAIL:
        return None if fate.outcome is Outcome.STUCK else fate.seconds
    if instance.status is Status.STOPPING and instance.spot_status is SpotStatus.RECLAIMING:
        return world.durations.spot_reclaiming_s
    cached = world.clusters[instance.cluster_id].cached_images
    lasts_s = world.durations.of(instance.status, image_is_cached=instance.image_url in cached)
    if lasts_s is None:
        return None
    return lasts_s * (1 + world.durations.spread * world.random.uniform(-1, 1))
