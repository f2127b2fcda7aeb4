"""The *spot market*: an instance bought there is cheap until somebody else wants its node.

After a protected first hour a *notice* may come, and an hour after it the *reclaim*: the node is taken, the
instance exits and keeps its reclaim time, which is how a client tells it from one that was stopped.
"""

from ostler.simulator.instance import NEVER, Instance, Mode, SpotStatus, Timer
from ostler.simulator.refusal import Refusal
from ostler.simulator.status import CONNECTED
from ostler.simulator.world import INSTANCES, World


def enter_market(world: World, instance: Instance) -> None:
    """Begin a run on a node that somebody may want; called whenever a spot instance begins to run."""
    if instance.mode is not Mode.SPOT or instance.spot_status in {SpotStatus.RUNNING, SpotStatus.NOTIFIED}:
        return
    instance.spot_status = SpotStatus.RUNNING
    instance.spot_reclaim_at = NEVER
    life_s = world.durations.spot_life_s
    if life_s > 0:
        protected_until = max(world.now, instance.created_at + world.durations.spot_protection_s)
        instance.timers[Timer.SPOT_NOTICE] = protected_until + world.random.expovariate(1 / life_s)


def leave_market(instance: Instance) -> None:
    """End the run: no notice and no reclaim come any more, and only a node that was taken leaves a trace."""
    instance.timers.pop(Timer.SPOT_NOTICE, None)
    instance.timers.pop(Timer.RECLAIM, None)
    if instance.spot_status is SpotStatus.RECLAIMING:
        instance.spot_status = SpotStatus.TERMINATED
    else:
        instance.spot_status = SpotStatus.NOT_SPOT
        instance.spot_reclaim_at = NEVER


def notify(world: World, instance: Instance, notice_s: float) -> None:
    """Announce that the node will be taken."""
    instance.timers.pop(Timer.SPOT_NOTICE, None)
    instance.spot_status = SpotStatus.NOTIFIED
    instance.spot_reclaim_at = world.now + notice_s
    instance.timers[Timer.RECLAIM] = instance.spot_reclaim_at


def force_notice(world: World, instance: Instance, notice_s: float) -> None:
    """Announce a reclaim now, whatever the market thinks; only a running spot instance has a node to take."""
    if instance.mode is not Mode.SPOT or instance.status not in CONNECTED:
        seen = f"{instance.id} is {instance.mode} and {instance.status}"
        message = f"id: {seen}; only a running spot instance can be reclaimed"
        raise Refusal(400, reason="BAD_CONTROL", message=message)
    notify(world, instance, notice_s)
    world.touch(INSTANCES, instance.id)


def begin_reclaim(instance: Instance) -> None:
    """Take the node; the reclaim time stays until the instance finds another."""
    instance.spot_status = SpotStatus.RECLAIMING
